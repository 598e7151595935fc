package httplimit

import (
	"net/http"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// HostKey is the host in the URL of a request, without the port: most remote servers limit
// by host. All spellings of a host have one key. A name is in lower case and without the
// dot at its end; beyond ASCII it has the form that net/http asks DNS for, as in
// xn--bcher-kva.de. An address is in its short form, and an IPv4 address in IPv6 form
// becomes a plain IPv4 address.
func HostKey(r *http.Request) string {
	host := r.URL.Hostname()
	if strings.ContainsFunc(host, func(c rune) bool { return c >= utf8.RuneSelf }) {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			host = ascii // a host without an ASCII form cannot be reached
		}
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return host
}
