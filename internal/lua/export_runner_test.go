package lua

import "net"

// Tracked is a connection as the runner uses it.
func Tracked(c net.Conn) net.Conn { return &conn{Conn: c, of: &conns{}} }

// CertainlyNotRun tells how a failure of one try is taken.
func CertainlyNotRun(err error) bool { return classify(err).verdict == notRun }
