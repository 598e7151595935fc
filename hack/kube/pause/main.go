// Command pause is the first process of every pod of the test node: it keeps the
// pod's namespaces open, and reaps orphans if the pod shares its process namespace.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for reaped := true; reaped; {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			reaped = pid > 0 && err == nil
		}
	}
}
