package httplimit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Source is a part of a request that may identify the caller.
type Source string

// The sources. Any other name is a header that holds a user's id, as X-User-Id.
const (
	// SourceXUserID is the header X-User-Id, for the key user:ID.
	SourceXUserID Source = "X-User-Id"
	// SourceUserID is the header User-Id, for the key user:ID.
	SourceUserID Source = "User-Id"
	// SourceBearer is the token of Authorization: Bearer, for the key token:HASH.
	// HASH is the SHA-256 of the token in hex; the token itself is not used as a key.
	SourceBearer Source = "bearer"
	// SourceIP is the client's address, for the key ip:ADDRESS, or ip:PREFIX of IPv6.
	SourceIP Source = "ip"
)

const (
	maxIdentifier = 128     // bytes of a user's id
	maxToken      = 8 << 10 // bytes; a token is hashed, and those that carry claims are long
	defaultBits   = 64      // of an IPv6 address: a customer usually has at least a /64
	defaultHeader = "X-Forwarded-For"
)

// Callers identify the caller of a request. Keys of different kinds are never equal: a user
// called 192.0.2.1 has the key user:192.0.2.1, and that address has ip:192.0.2.1.
//
// User ids and tokens are not verified. A server that strangers can reach directly must
// verify them first, or use SourceIP only. Otherwise a client that invents a new id for
// each request is never limited.
type Callers struct {
	// Sources are read in this order, and the first that is present counts;
	// nil = X-User-Id, User-Id, bearer token, client IP.
	Sources []Source
	// TrustedProxies are the addresses of the proxies whose Header is trusted; none = the
	// client is the peer of the connection.
	TrustedProxies []netip.Prefix
	// TrustUnix trusts the Header of a peer that connects over a Unix socket. Set it if only
	// a proxy on the same machine does. Such a peer has no address.
	TrustUnix bool
	// Header is the header in which those proxies name their client; empty =
	// X-Forwarded-For. Forwarded is read by RFC 7239, and any other header as addresses
	// separated by commas. No other header is read: a proxy forwards the headers that it
	// does not write as its client sent them.
	Header string
	// IPv6Bits is how many bits of an IPv6 address are used, 1 to 128; 0 = 64.
	IPv6Bits int
}

var defaultSources = []Source{SourceXUserID, SourceUserID, SourceBearer, SourceIP}

// Key is the key of the caller of a request. An error is a mistake of the caller: it names
// the header and the remedy, and does not repeat the value.
func (c Callers) Key(r *http.Request) (string, error) {
	sources := c.Sources
	if sources == nil {
		sources = defaultSources
	}
	for _, s := range sources {
		key, err := c.from(s, r)
		if err != nil || key != "" {
			return key, err
		}
	}
	return "", fmt.Errorf("nothing says who is calling; send one of: %s", join(sources))
}

func (c Callers) from(s Source, r *http.Request) (string, error) {
	switch s {
	case SourceBearer:
		return bearer(r.Header)
	case SourceIP:
		return c.address(r)
	default:
		return identifier(r.Header, string(s))
	}
}

// identifier reads a header that holds a user's id.
func identifier(h http.Header, name string) (string, error) {
	v := h.Values(name)
	if len(v) == 0 {
		return "", nil
	}
	id := v[0]
	var wrong string
	switch {
	case len(v) > 1:
		wrong = "is given more than once"
	case id == "":
		wrong = "is empty"
	case len(id) > maxIdentifier:
		wrong = "is too long"
	case !utf8.ValidString(id):
		wrong = "is not valid UTF-8"
	case strings.ContainsFunc(id, unicode.IsControl):
		wrong = "has control characters"
	default:
		return "user:" + id, nil
	}
	return "", fmt.Errorf("%s %s; send 1 to %d bytes of UTF-8 without control characters, or leave it out", name, wrong, maxIdentifier)
}

// bearer reads the token of RFC 6750. Other schemes are ignored.
func bearer(h http.Header) (string, error) {
	v := h.Values("Authorization")
	for _, credentials := range v {
		scheme, token, _ := strings.Cut(credentials, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			continue
		}
		token = strings.Trim(token, " ")
		visible := strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
		if len(v) > 1 || token == "" || len(token) > maxToken || !visible {
			return "", fmt.Errorf("the bearer token of Authorization cannot be read; send one, of 1 to %d visible ASCII characters", maxToken)
		}
		sum := sha256.Sum256([]byte(token))
		return "token:" + hex.EncodeToString(sum[:]), nil
	}
	return "", nil
}

var (
	errPeer = errors.New("the client's address cannot be read")
	errUnix = errors.New("a client on a Unix socket has no address; with Callers.TrustUnix the server believes the proxy there")
)

// overUnix reports whether a request came over a Unix socket. It does not use RemoteAddr,
// which a router may have replaced.
func overUnix(r *http.Request) bool {
	_, ok := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	return ok
}

// address finds the address of the client: the peer of the connection, or the client that a
// trusted proxy names. In a chain of proxies the rightmost address that is not trusted
// counts, because that one wrote everything to the left of it.
func (c Callers) address(r *http.Request) (string, error) {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	addr := plain(at.Addr()) // not valid for a peer on a Unix socket
	switch {
	case err != nil && !overUnix(r):
		return "", errPeer
	case err != nil && !c.TrustUnix:
		return "", errUnix
	case err == nil && !c.trusts(addr):
		return c.addressKey(addr), nil
	}
	name := c.Header
	if name == "" {
		name = defaultHeader
	}
	lines := r.Header.Values(name)
	var hops []string
	if strings.EqualFold(name, "Forwarded") {
		if hops, err = forwarded(lines); err != nil {
			return "", fmt.Errorf("%s cannot be read: %w", name, err)
		}
	} else {
		hops = splitAddresses(lines)
	}
	if !addr.IsValid() && len(hops) == 0 {
		return "", fmt.Errorf("%s is missing, without which nothing says who is behind the proxy on the Unix socket", name)
	}
	for i := len(hops) - 1; i >= 0 && (!addr.IsValid() || c.trusts(addr)); i-- {
		if addr, err = parseHop(hops[i]); err != nil {
			return "", fmt.Errorf("%s has something that is no address", name)
		}
	}
	return c.addressKey(addr), nil
}

func (c Callers) trusts(addr netip.Addr) bool {
	for _, p := range c.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

func (c Callers) addressKey(addr netip.Addr) string {
	bits := c.IPv6Bits
	if bits == 0 {
		bits = defaultBits
	}
	if addr.Is4() || bits < 0 || bits >= addr.BitLen() {
		return "ip:" + addr.String()
	}
	return "ip:" + netip.PrefixFrom(addr, bits).Masked().String()
}

// plain is the address in the form that identifies a host: an IPv4 address has one form, and
// the zone, which names an interface of the server, is removed.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func join(sources []Source) string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = string(s)
		if s == SourceBearer {
			names[i] = "Authorization: Bearer"
		}
	}
	return strings.Join(names, ", ")
}
