package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/coxswain-sidecar/coxswain/internal/redisurl"
)

// TLSFiles are the PEM files of rediss:// connections. They are read for each
// handshake, so that renewed files are used without a restart.
type TLSFiles struct {
	// CA signs the servers' certificates; empty means the system's authorities.
	CA string
	// Cert and Key are shown to servers that ask for a client's certificate.
	Cert, Key string
	// ServerName is the name in the servers' certificates, where that is not the host
	// that is dialled.
	ServerName string
}

// connector makes connections: it dials a node and logs in.
type connector struct {
	target redisurl.URL
	opt    *Options
	inside *embedded // the embedded store, nil otherwise
	dialer *dialer
}

func newConnector(o *Options, t redisurl.URL) *connector {
	return &connector{target: t, opt: o, dialer: newDialer(net.Dialer{Timeout: o.DialTimeout, KeepAlive: 15 * time.Second})}
}

// dial makes one connection to a node.
func (c *connector) dial(ctx context.Context, addr string) (net.Conn, error) {
	if c.inside != nil {
		return c.inside.dial(ctx)
	}
	raw, err := c.dialer.DialContext(ctx, c.target.Network, addr)
	if err != nil || !c.target.Secure {
		return raw, err
	}
	return c.secure(ctx, raw, addr)
}

// tls makes the configuration of one handshake from the files.
func (c *connector) tls(addr string) (*tls.Config, error) {
	files := c.opt.TLS
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: files.ServerName}
	if conf.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		conf.ServerName, _, _ = strings.Cut(host, "%") // certificates have no IPv6 zones
	}
	if files.CA != "" {
		text, err := readText(files.CA)
		if err != nil {
			return nil, fmt.Errorf("redis.tls.ca_file: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("redis.tls.ca_file: the file has no certificate: name a file with one in PEM")
		}
	}
	if files.Cert != "" {
		pair, err := loadPair(files.Cert, files.Key)
		if err != nil {
			return nil, fmt.Errorf("redis.tls.cert_file and redis.tls.key_file: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

// credentials reads user and password for each connection, so that a password may be
// rotated: the connection that replaces a refused one uses the new password.
func (c *connector) credentials() (username, password string, err error) {
	username, password = c.target.Username, c.target.Password
	if c.opt.Username != "" {
		username = c.opt.Username
	}
	if c.opt.PasswordFile != "" {
		password, err = readPassword("redis.password_file", c.opt.PasswordFile)
	}
	return username, password, err
}

// Files reads all files that connections of this store need, as a new connection does. It
// returns nil if all of them can be used.
func (s *Store) Files() *Trouble {
	c := s.connector
	if _, _, err := c.credentials(); err != nil {
		return troubleOf(&unsent{"setup", err})
	}
	if _, _, err := c.sentinelCredentials(); err != nil {
		return troubleOf(&atSentinel{c.target.Addrs[0], &unsent{"setup", err}})
	}
	if c.target.Secure {
		if _, err := c.tls(c.target.Addrs[0]); err != nil {
			return troubleOf(&unsent{"dial", err})
		}
	}
	return nil
}

// readPassword reads a password file; key is its name in the configuration.
func readPassword(key, file string) (string, error) {
	text, err := readText(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// handshake logs in and selects the database before any script is written to a
// connection. A failure here (auth, database, a server that is loading or full) is thus
// known to have run no script.
func (c *connector) handshake(ctx context.Context, cn *redis.Conn) error {
	username, password, err := c.credentials()
	if err != nil {
		return &unsent{"setup", err}
	}
	_, err = cn.Pipelined(ctx, func(p redis.Pipeliner) error {
		_ = authenticate(ctx, p, username, password) // only queued; the error is returned below
		if c.target.DB != 0 {
			p.Select(ctx, c.target.DB)
		}
		p.Ping(ctx)
		return nil
	})
	var lost *unsent
	if err == nil || errors.As(err, &lost) {
		return err
	}
	return &unsent{"setup", err}
}

// authenticate logs in, if there are credentials.
func authenticate(ctx context.Context, p redis.StatefulCmdable, username, password string) error {
	switch {
	case username != "":
		return p.AuthACL(ctx, username, password).Err()
	case password != "":
		return p.Auth(ctx, password).Err()
	}
	return nil
}

// adviser is a client with one connection to a sentinel or to a node of a cluster's
// URL, which returns the addresses of the servers.
type adviser struct {
	client *redis.Client
	conns  *conns
}

func (c *connector) adviser(addr string, hello func(context.Context, *redis.Conn) error) *adviser {
	a := &adviser{conns: newConns(func(ctx context.Context) (net.Conn, error) { return c.dial(ctx, addr) })}
	opt := c.options(addr)
	opt.OnConnect, opt.MinIdleConns, opt.PoolSize, opt.MaxActiveConns = hello, 0, 1, 1
	opt.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return a.conns.connect(ctx), nil }
	a.client = redis.NewClient(&opt)
	return a
}

func (a *adviser) close() error {
	a.conns.closeAll(newTrouble("closed", errClosed), true)
	return a.client.Close()
}

// options are the options that all clients share; each client adds its dialer.
func (c *connector) options(addr string) redis.Options {
	o := c.opt
	return redis.Options{
		Addr: addr, Protocol: 2,
		OnConnect:  c.handshake,
		MaxRetries: -1, DialerRetries: 1,
		DialTimeout: o.DialTimeout, ReadTimeout: o.CommandTimeout, WriteTimeout: o.CommandTimeout,
		PoolTimeout: o.CommandTimeout, ContextTimeoutEnabled: true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		PoolSize:                 o.MaxConns, MaxActiveConns: o.MaxConns, MinIdleConns: o.MinIdle,
		PipelinePoolSize: -1, // pipelines and lone calls share one bounded pool
	}
}
