//go:build !unix

package client

import "net"

// nonBlocking leaves every write to the background goroutine, because this system has
// no way to write only as much as the socket takes at once.
func nonBlocking(net.Conn) func([]byte) (int, error) { return later }
