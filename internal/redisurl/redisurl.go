// Package redisurl parses the address of a Redis.
//
// Its invariant: an error never quotes text that may be part of a password, since a
// password with an unescaped character may end up in any part of the address. The
// error describes the mistake and then the remedy, and callers put the name of the
// setting before it. The package does not resolve names and reads no other setting.
package redisurl

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Embedded is the address of the in-process development store.
const Embedded = "embedded"

// The topologies that an address can name, Embedded aside.
const (
	Standalone = "standalone"
	Sentinel   = "sentinel"
	Cluster    = "cluster"
)

// URL is a parsed address.
type URL struct {
	Topology string // standalone, sentinel, cluster or embedded
	Network  string // tcp or unix
	// Addrs are host:port, or the path of the socket; the seeds of a cluster, or
	// the sentinels.
	Addrs              []string
	Master             string // the name that the sentinels have for the master
	Secure             bool   // over TLS
	Username, Password string
	HasPassword        bool
	DB                 int
}

// String returns the address without credentials, for people.
func (u URL) String() string {
	list := strings.Join(u.Addrs, ",")
	if u.Master != "" {
		return list + "/" + u.Master
	}
	return list
}

const (
	remedy = "write redis://host:6379/0 (user:password@ before the host; rediss:// for TLS), unix:///path/of/socket, " +
		"redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379, or embedded for development"
	encode = "percent-encode what is special in the user and the password: / as %2F, ? as %3F, # as %23, @ as %40, % as %25, a space as %20"
)

// Parse parses an address.
func Parse(text string) (URL, error) {
	if text == Embedded {
		return URL{Topology: Embedded, Addrs: []string{"in this process"}}, nil
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, _, _ = strings.Cut(text, ":")
	}
	u := URL{Topology: Standalone, Network: "tcp"}
	kind := strings.Replace(scheme, "rediss", "redis", 1)
	u.Secure = kind != scheme
	switch kind {
	case "redis":
	case "unix":
		u.Network = "unix"
	case "redis+sentinel":
		u.Topology = Sentinel
	case "redis+cluster":
		u.Topology = Cluster
	default:
		if strings.Contains(scheme, "@") {
			return URL{}, errors.New("is not a URL; " + remedy)
		}
		return URL{}, fmt.Errorf("starts with %q; %s", scheme, remedy)
	}
	if !ok {
		return URL{}, errors.New("lacks // after its scheme; " + remedy)
	}
	hosts, tail, err := u.split(rest)
	if err == nil && u.Network == "unix" {
		err = u.socket(hosts, tail)
	} else if err == nil {
		err = u.servers(hosts, tail)
	}
	if err != nil {
		return URL{}, err
	}
	return u, nil
}

// split removes the login, and returns the hosts, of which there may be several,
// which package url does not accept, and the part after them.
func (u *URL) split(rest string) (hosts string, tail *url.URL, err error) {
	if strings.ContainsFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "", nil, errors.New("has a space, a line break or a control character; remove it, or " + encode)
	}
	authority, after := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, after = rest[:i], rest[i:]
	}
	// No name of a master, database or option has an @; the path of a socket may.
	if strings.Contains(after, "@") && authority != "" {
		return "", nil, errors.New("has a /, ? or # before its @; " + encode)
	}
	hosts = authority[strings.LastIndexByte(authority, '@')+1:]
	if login := strings.TrimSuffix(authority, hosts); login != "" {
		with, err := url.Parse("x://" + login + "h")
		if err != nil || with.User == nil {
			return "", nil, errors.New("has a user or a password that cannot be read; " + encode)
		}
		u.Username = with.User.Username()
		u.Password, u.HasPassword = with.User.Password()
	}
	if tail, err = url.Parse("x://h" + after); err != nil {
		return "", nil, errors.New("is not a URL after its host; " + remedy)
	}
	return hosts, tail, nil
}

// socket parses the path of a socket. The database is an option, since after a path
// it could not be distinguished from the path.
func (u *URL) socket(hosts string, tail *url.URL) error {
	u.Addrs = []string{tail.Path}
	query := tail.Query()
	db := query.Get("db")
	query.Del("db")
	switch {
	case hosts != "" || strings.Trim(tail.Path, "/") == "":
		return errors.New("names no socket; write its absolute path, such as unix:///run/redis.sock?db=0")
	case len(query) > 0 || tail.Fragment != "":
		return errors.New("has other options than db, which are not read; " + remedy)
	}
	return u.database(db)
}

func (u *URL) servers(hosts string, tail *url.URL) error {
	many := strings.Split(hosts, ",")
	switch {
	case tail.RawQuery != "" || tail.Fragment != "":
		return errors.New("has options after ? or #, which are not read; " + remedy)
	case u.Topology == Standalone && len(many) > 1:
		return errors.New("has several hosts, which are a cluster or sentinels; " + remedy)
	}
	for _, h := range many {
		if err := u.server(h); err != nil {
			return err
		}
	}
	path := strings.Trim(tail.Path, "/")
	switch u.Topology {
	case Cluster:
		if path != "" {
			return errors.New("has a path; a cluster has one database only: write redis+cluster://host:6379,host:6379")
		}
	case Sentinel:
		if u.Master, path, _ = strings.Cut(path, "/"); u.Master == "" {
			return errors.New("lacks the name by which the sentinels know the master; write redis+sentinel://host:26379,host:26379/master")
		}
	}
	return u.database(path)
}

// server parses one host, with or without its port.
func (u *URL) server(h string) error {
	with, err := url.Parse("x://" + h)
	switch {
	case strings.Count(h, ":") > 1 && !strings.HasPrefix(h, "["):
		return errors.New("has an IPv6 address without brackets, or a host with two ports; write redis://[::1]:6379")
	case err != nil && strings.HasPrefix(h, "[") && strings.Contains(h, "%"):
		return errors.New("has an IPv6 address with a zone that cannot be read; write its % as %25, such as redis://[fe80::1%25eth0]:6379")
	case err != nil && strings.Contains(h, ":") && !strings.HasPrefix(h, "["):
		return errors.New("has a port that is no number; write one from 1 to 65535, and " + encode)
	case err != nil:
		return errors.New("has a host that cannot be read; " + remedy)
	case with.Hostname() == "":
		return errors.New("names no host; " + remedy)
	}
	port := with.Port()
	switch {
	case port != "":
	case u.Topology == Sentinel:
		port = "26379"
	default:
		port = "6379"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65_535 {
		return fmt.Errorf("has port %s; write one from 1 to 65535", port)
	}
	u.Addrs = append(u.Addrs, net.JoinHostPort(with.Hostname(), port))
	return nil
}

func (u *URL) database(db string) error {
	if db == "" {
		return nil
	}
	n, err := strconv.Atoi(db)
	if err != nil || n < 0 {
		return fmt.Errorf("has database %q; write a number, such as redis://host:6379/0", db)
	}
	u.DB = n
	return nil
}
