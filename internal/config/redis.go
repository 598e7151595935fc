package config

import (
	"path/filepath"
	"strings"
	"unicode"

	"github.com/coxswain-sidecar/coxswain/internal/redisurl"
)

// redisLogin finds a user or a password that is set twice, or that the embedded store would not use.
func (k *checker) redisLogin(r Redis, u redisurl.URL) {
	if r.Username != "" {
		switch {
		case u.Topology == redisurl.Embedded:
			k.add("redis.username", "the embedded store has no users; remove it, or set redis.url to a Redis")
		case u.Username != "":
			k.add("redis.username", "redis.url names a user too; write it in one of them")
		case strings.ContainsFunc(r.Username, unicode.IsSpace) || strings.ContainsFunc(r.Username, unicode.IsControl):
			k.add("redis.username", "%q has spaces or control characters, which no user of Redis has; remove them", r.Username)
		}
	}
	if r.PasswordFile == "" {
		return
	}
	switch {
	case u.Topology == redisurl.Embedded:
		k.add("redis.password_file", "the embedded store asks for no password; remove it, or set redis.url to a Redis")
	case u.HasPassword:
		k.add("redis.password_file", "redis.url has a password too; take it out there, so that it can change without a restart")
	default:
		k.absolute("redis.password_file", r.PasswordFile, "/etc/coxswain/redis/password")
	}
}

// sentinelLogin finds a login without sentinels, a password that is set twice, and a user without a password.
func (k *checker) sentinelLogin(l Login, u redisurl.URL) {
	const at = "redis.sentinel."
	for _, f := range []struct{ path, value string }{
		{at + "username", l.Username}, {at + "password", l.Password}, {at + "password_file", l.PasswordFile},
	} {
		if f.value != "" && u.Topology != redisurl.Sentinel {
			k.add(f.path, "redis.url names no sentinels; write redis+sentinel://host:26379/master there, or remove this")
		}
	}
	switch {
	case l.Password != "" && l.PasswordFile != "":
		k.add(at+"password", "redis.sentinel.password_file has a password too; keep one of them")
	case l.Username != "" && l.Password == "" && l.PasswordFile == "":
		k.add(at+"username", "needs a password; set redis.sentinel.password_file, or remove it")
	case strings.ContainsFunc(l.Username, unicode.IsSpace) || strings.ContainsFunc(l.Username, unicode.IsControl):
		k.add(at+"username", "%q has spaces or control characters, which no user of Redis has; remove them", l.Username)
	}
	if l.PasswordFile != "" {
		k.absolute(at+"password_file", l.PasswordFile, "/etc/coxswain/sentinel/password")
	}
}

// redisTLS finds settings that a connection without TLS would not use, and a certificate or key without the other.
func (k *checker) redisTLS(t TLS, u redisurl.URL) {
	const at = "redis.tls."
	for _, f := range []struct{ path, value, example string }{
		{at + "ca_file", t.CAFile, "/etc/coxswain/tls/ca.crt"},
		{at + "cert_file", t.CertFile, "/etc/coxswain/tls/tls.crt"},
		{at + "key_file", t.KeyFile, "/etc/coxswain/tls/tls.key"},
		{at + "server_name", t.ServerName, ""},
	} {
		switch {
		case f.value == "":
		case !u.Secure:
			k.add(f.path, "redis.url is without TLS; write rediss:// there, or remove this")
		case f.example != "":
			k.absolute(f.path, f.value, f.example)
		}
	}
	if name := t.ServerName; strings.ContainsAny(name, "/@ ") || strings.Count(name, ":") == 1 {
		k.add(at+"server_name", "%q is more than a name; write the host alone, as certificates have it, such as redis.example.com", name)
	}
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		k.add(at+"cert_file", "needs its key; set redis.tls.key_file, or remove it")
	case t.KeyFile != "" && t.CertFile == "":
		k.add(at+"key_file", "needs its certificate; set redis.tls.cert_file, or remove it")
	}
}

// absolute requires an absolute path, which means the same whatever the working directory is.
func (k *checker) absolute(path, file, example string) {
	if !filepath.IsAbs(file) {
		k.add(path, "%q is not absolute; write the whole path, such as %s", file, example)
	}
}
