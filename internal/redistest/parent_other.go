//go:build !linux

package redistest

import "syscall"

// dieWithParent exists on Linux only; elsewhere a killed test binary leaves its server.
func dieWithParent() *syscall.SysProcAttr { return nil }
