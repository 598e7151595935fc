package httplimit

import (
	"net/http"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// HostKey is the host that a request goes to, as its URL says, without port: what
// most limits of remote servers count. However a host is written it has one key:
// names in lower case, without the dot at the end, and those beyond ASCII as
// net/http asks DNS for them (xn--bcher-kva.de); addresses in their short form, and
// IPv4 addresses as such.
func HostKey(r *http.Request) string {
	host := r.URL.Hostname()
	if strings.ContainsFunc(host, func(c rune) bool { return c >= utf8.RuneSelf }) {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			host = ascii // any other fails to connect
		}
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return host
}
