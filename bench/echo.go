package main

import "net"

// serveEcho answers bytes with the same bytes, which is the least work that a server on
// such a socket can do.
func serveEcho(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 1<<16)
			for {
				n, err := c.Read(buf)
				if err != nil {
					return
				}
				if _, err := c.Write(buf[:n]); err != nil {
					return
				}
			}
		}()
	}
}
