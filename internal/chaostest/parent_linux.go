package chaostest

import "syscall"

// dieWithParent makes the kernel end a sidecar with the test binary, however
// that ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
