package httplimit

import (
	"errors"
	"net/netip"
	"strings"
)

// splitAddresses returns the members of a list header, over all its lines. Empty
// members are skipped (RFC 9110, 5.6.1).
func splitAddresses(lines []string) []string {
	var hops []string
	for _, line := range lines {
		for hop := range strings.SplitSeq(line, ",") {
			if hop = strings.Trim(hop, " \t"); hop != "" {
				hops = append(hops, hop)
			}
		}
	}
	return hops
}

// parseHop reads an address as proxies write it: alone, with a port, or in
// brackets.
func parseHop(s string) (netip.Addr, error) {
	if at, err := netip.ParseAddrPort(s); err == nil {
		return plain(at.Addr()), nil
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimSuffix(inner, "]")
	}
	a, err := netip.ParseAddr(s)
	return plain(a), err
}

var (
	errQuote = errors.New("a quoted string does not end, or something follows it")
	errPair  = errors.New("a parameter is not NAME=VALUE")
	errTwice = errors.New("an element has two parameters called for")
)

// forwarded returns the for parameters of Forwarded (RFC 7239), one for each element
// of the list, empty if the element has none. It rejects wrong quotes and
// separators: a client writes the left part of the list, and a quote that it leaves
// open must not swallow the elements that proxies appended.
func forwarded(lines []string) ([]string, error) {
	rest := strings.Join(lines, ",")
	var hops []string
	var e element
	for rest != "" {
		var err error
		if rest, err = e.pair(rest); err != nil {
			return nil, err
		}
		if rest != "" {
			if rest[0] == ',' {
				hops, e = e.appendTo(hops), element{}
			}
			rest = rest[1:] // the separator
		}
	}
	return e.appendTo(hops), nil
}

// element is one element of the list while it is read.
type element struct {
	pairs   int
	named   bool // for has been seen
	forWhom string
}

// appendTo appends the element's for parameter, unless the element is empty.
func (e *element) appendTo(hops []string) []string {
	if e.pairs == 0 {
		return hops
	}
	return append(hops, e.forWhom)
}

// pair reads one parameter, up to the separator that ends it.
func (e *element) pair(s string) (string, error) {
	s = strings.TrimLeft(s, " \t")
	if s == "" || s[0] == ',' || s[0] == ';' {
		return s, nil
	}
	end := strings.IndexAny(s, `=,;"`)
	if end < 1 || s[end] != '=' {
		return "", errPair
	}
	value, rest, err := pairValue(s[end+1:])
	if err != nil {
		return "", err
	}
	e.pairs++
	if strings.EqualFold(s[:end], "for") {
		if e.named {
			return "", errTwice
		}
		e.named, e.forWhom = true, value
	}
	return rest, nil
}

// pairValue reads a token or a quoted string. It also accepts addresses without the quotes
// that the RFC demands, because they have no separators.
func pairValue(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, `,;"`)
		if end < 0 {
			end = len(s)
		} else if s[end] == '"' {
			return "", "", errQuote
		}
		return strings.TrimRight(s[:end], " \t"), s[end:], nil
	}
	b := make([]byte, 0, len(s))
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) {
				b = append(b, s[i])
			}
		case '"':
			rest = strings.TrimLeft(s[i+1:], " \t")
			if rest != "" && rest[0] != ',' && rest[0] != ';' {
				return "", "", errQuote
			}
			return string(b), rest, nil
		default:
			b = append(b, s[i])
		}
	}
	return "", "", errQuote
}
