package config

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
)

// redisLogin finds a user or a password that is said twice, or to nobody.
func (k *checker) redisLogin(r Redis) {
	var user *url.Userinfo
	if u, err := url.Parse(r.URL); err == nil { // else redisURL says so
		user = u.User
	}
	if r.Username != "" {
		switch {
		case r.URL == embedded:
			k.add("redis.username", "the embedded store has no users; remove it, or set redis.url to a Redis")
		case user.Username() != "":
			k.add("redis.username", "redis.url names a user too; write it in one of them")
		case strings.ContainsFunc(r.Username, unicode.IsSpace) || strings.ContainsFunc(r.Username, unicode.IsControl):
			k.add("redis.username", "%q has spaces or control characters, which no user of Redis has; remove them", r.Username)
		}
	}
	if r.PasswordFile == "" {
		return
	}
	_, twice := user.Password()
	switch {
	case r.URL == embedded:
		k.add("redis.password_file", "the embedded store asks for no password; remove it, or set redis.url to a Redis")
	case twice:
		k.add("redis.password_file", "redis.url has a password too; take it out there, so that it can change without a restart")
	default:
		k.absolute("redis.password_file", r.PasswordFile, "/etc/coxswain/redis/password")
	}
}

// redisTLS finds files that would never be used, and half a client certificate.
func (k *checker) redisTLS(r Redis) {
	const at = "redis.tls."
	t := r.TLS
	for _, f := range []struct{ path, value, example string }{
		{at + "ca_file", t.CAFile, "/etc/coxswain/tls/ca.crt"},
		{at + "cert_file", t.CertFile, "/etc/coxswain/tls/tls.crt"},
		{at + "key_file", t.KeyFile, "/etc/coxswain/tls/tls.key"},
		{at + "server_name", t.ServerName, ""},
	} {
		switch {
		case f.value == "":
		case withoutTLS(r.URL):
			k.add(f.path, "redis.url is without TLS; write rediss:// there, or remove this")
		case f.example != "":
			k.absolute(f.path, f.value, f.example)
		}
	}
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		k.add(at+"cert_file", "needs its key; set redis.tls.key_file, or remove it")
	case t.KeyFile != "" && t.CertFile == "":
		k.add(at+"key_file", "needs its certificate; set redis.tls.cert_file, or remove it")
	}
}

const embedded = "embedded"

// withoutTLS is sure of it: whatever else an address may say is left to whoever dials it.
func withoutTLS(address string) bool {
	return address == embedded || strings.HasPrefix(address, "redis://") || strings.HasPrefix(address, "unix://")
}

// absolute asks for a path that means the same wherever the sidecar is started.
func (k *checker) absolute(path, file, example string) {
	if !filepath.IsAbs(file) {
		k.add(path, "%q is not absolute; write the whole path, such as %s", file, example)
	}
}
