package redis

import (
	"net"
	"strconv"
	"strings"
)

// slotCount is the number of slots of every cluster.
const slotCount = 16384

// tagOf returns the part of a key that decides its slot: the text between its first { and
// the next }, or the whole key if there is no such text.
func tagOf(key string) string {
	if _, tail, ok := strings.Cut(key, "{"); ok {
		if tag, _, closed := strings.Cut(tail, "}"); closed && tag != "" {
			return tag
		}
	}
	return key
}

// slotOf returns the slot of a key: the checksum of its tag, modulo slotCount.
func slotOf(key string) int {
	key = tagOf(key)
	// CRC-16/XMODEM, bit by bit: tags are short.
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}

// owner is a master that claims slots, and the epoch of its claim.
type owner struct {
	addr  string
	epoch int64
}

// claim is a range of slots, both ends included.
type claim struct {
	owner
	from, to int
}

// view is the slots as one node reports them.
type view []claim

// readView parses the reply to CLUSTER NODES of the node at asked. It skips what it
// cannot parse: the next reply comes within a second.
func readView(text, asked string) view {
	var v view
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 9 || !strings.Contains(f[2], "master") || strings.Contains(f[2], "noaddr") {
			continue
		}
		addr, ok := nodeAddr(f[1], asked)
		epoch, err := strconv.ParseInt(f[6], 10, 64)
		if !ok || err != nil {
			continue
		}
		for _, span := range f[8:] {
			first, last, many := strings.Cut(span, "-")
			if !many {
				last = first
			}
			from, err1 := strconv.Atoi(first)
			to, err2 := strconv.Atoi(last)
			// A slot that is being moved, as [93-<-id], is not a number.
			if err1 != nil || err2 != nil || from < 0 || to >= slotCount {
				continue
			}
			v = append(v, claim{owner{addr, epoch}, from, to})
		}
	}
	return v
}

// nodeAddr parses ip:port@busport[,hostname]. The host is empty if the node has not
// learned its own address yet.
func nodeAddr(field, asked string) (string, bool) {
	field, _, _ = strings.Cut(field, "@")
	i := strings.LastIndexByte(field, ':')
	if i < 0 {
		return "", false
	}
	return endpoint(field[:i], field[i+1:], asked)
}

// endpoint joins host and port. An empty host means the host of the node that was
// asked.
func endpoint(host, port, asked string) (string, bool) {
	if host == "" {
		h, _, err := net.SplitHostPort(asked)
		if err != nil {
			return "", false
		}
		host = h
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port), true
}

// merge takes, for each slot, the claim with the highest epoch.
func merge(views []view) *[slotCount]owner {
	all := new([slotCount]owner)
	for _, v := range views {
		for _, c := range v {
			for slot := c.from; slot <= c.to; slot++ {
				if all[slot].addr == "" || c.epoch > all[slot].epoch {
					all[slot] = c.owner
				}
			}
		}
	}
	return all
}

// redirection parses "MOVED 3999 127.0.0.1:6381"; ASK has the same form.
func redirection(err error, asked string) (slot int, addr string, ok bool) {
	words := strings.Fields(err.Error())
	if len(words) != 3 {
		return 0, "", false
	}
	slot, failed := strconv.Atoi(words[1])
	i := strings.LastIndexByte(words[2], ':')
	if failed != nil || slot < 0 || slot >= slotCount || i < 0 {
		return 0, "", false
	}
	addr, ok = endpoint(words[2][:i], words[2][i+1:], asked)
	return slot, addr, ok
}
