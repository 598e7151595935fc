//go:build !unix

package client

import "net"

// nonBlocking leaves every write to the background: this system has no way to
// write only what goes at once.
func nonBlocking(net.Conn) func([]byte) (int, error) { return later }
