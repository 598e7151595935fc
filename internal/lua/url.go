package lua

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// The topologies that a URL can name, as Status shows them.
const (
	standalone = "standalone"
	sentinel   = "sentinel"
	cluster    = "cluster"
)

// target is what a URL says.
type target struct {
	topology string
	network  string // tcp or unix
	// addrs are host:port, or the path of the socket; the seeds of a cluster, or
	// the sentinels.
	addrs              []string
	master             string // the sentinels' name of it
	secure             bool
	username, password string
	db                 int
}

// String is what people are shown: no credentials.
func (t target) String() string {
	list := strings.Join(t.addrs, ",")
	if t.master != "" {
		return list + "/" + t.master
	}
	return list
}

const (
	wantAny = "redis://[user:password@]host:port[/db] (rediss:// for TLS), unix:///path/of/socket[?db=n], " +
		"redis+sentinel://[user:password@]host:port,host:port/master[/db], " +
		"redis+cluster://[user:password@]host:port,host:port, or embedded for an in-process development store"
	wantUnix     = "unix://[user:password@]/path/of/socket[?db=n]"
	wantSentinel = "redis+sentinel://[user:password@]host:port,host:port/master[/db]"
	wantCluster  = "redis+cluster://[user:password@]host:port,host:port"
)

// parse reads the URL of a Redis. Its errors never quote the URL, not even in
// part: a password with an unescaped character ends up in any of its fields.
func parse(text string) (target, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return target{}, errors.New("redis url: unknown kind of address: use " + wantAny)
	}
	t := target{topology: standalone, network: "tcp"}
	switch scheme {
	case "redis", "unix":
	case "rediss":
		t.secure = true
	case "redis+sentinel", "rediss+sentinel":
		t.topology, t.secure = sentinel, scheme[5] == 's'
	case "redis+cluster", "rediss+cluster":
		t.topology, t.secure = cluster, scheme[5] == 's'
	default:
		return target{}, errors.New("redis url: unknown kind of address: use " + wantAny)
	}
	// A list of hosts with ports is no authority that package url reads.
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	hosts := authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		hosts = authority[i+1:]
		u, err := url.Parse("x://" + authority[:i+1] + "h")
		if err != nil || u.User == nil {
			return target{}, errors.New("redis url: it cannot be read (percent-encode special characters of the password): use " + wantAny)
		}
		t.username = u.User.Username()
		t.password, _ = u.User.Password()
	}
	u, err := url.Parse("x://h" + tail)
	if err != nil {
		return target{}, errors.New("redis url: it cannot be read (percent-encode special characters of the password): use " + wantAny)
	}
	if scheme == "unix" {
		return t, t.unix(hosts, u)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return target{}, errors.New("redis url: no options after ? or # are taken (timeouts and pool have settings of their own): use " + wantAny)
	}
	if err := t.hosts(hosts); err != nil {
		return target{}, err
	}
	return t, t.path(strings.Trim(u.Path, "/"))
}

// unix takes the path of a socket; its database is an option, since the path
// has no end that could be told from it.
func (t *target) unix(hosts string, u *url.URL) error {
	t.network, t.addrs = "unix", []string{u.Path}
	query := u.Query()
	db := query.Get("db")
	query.Del("db")
	switch {
	case hosts != "" || strings.Trim(u.Path, "/") == "":
		return errors.New("redis url: the path of the socket is missing, or not absolute: use " + wantUnix)
	case len(query) > 0 || u.Fragment != "":
		return errors.New("redis url: no option but db is taken: use " + wantUnix)
	}
	return t.database(db)
}

func (t *target) hosts(list string) error {
	port := "6379"
	if t.topology == sentinel {
		port = "26379"
	}
	many := strings.Split(list, ",")
	if t.topology == standalone && len(many) > 1 {
		return errors.New("redis url: several hosts are a cluster or sentinels: use " + wantCluster + " or " + wantSentinel)
	}
	for _, h := range many {
		u, err := url.Parse("x://" + h)
		if err != nil || u.Hostname() == "" || u.Host != h || u.User != nil {
			return errors.New("redis url: the host is missing or cannot be read: use " + wantAny)
		}
		p := u.Port()
		if p == "" {
			p = port
		}
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65_535 {
			return errors.New("redis url: a port is not within 1 and 65535: use " + wantAny)
		}
		t.addrs = append(t.addrs, net.JoinHostPort(u.Hostname(), p))
	}
	return nil
}

// path takes what is after the hosts.
func (t *target) path(path string) error {
	switch t.topology {
	case cluster:
		if path != "" {
			return errors.New("redis url: a cluster has one database only: use " + wantCluster)
		}
		return nil
	case sentinel:
		name, db, _ := strings.Cut(path, "/")
		if name == "" {
			return errors.New("redis url: the master's name is missing: use " + wantSentinel)
		}
		t.master = name
		return t.database(db)
	}
	return t.database(path)
}

func (t *target) database(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("redis url: the database is not a number: use " + wantAny)
	}
	t.db = n
	return nil
}
