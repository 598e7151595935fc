package redistest

import "syscall"

// dieWithParent makes the kernel end the server with the test binary, however
// that ends: a test timeout panics past every clean-up.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
