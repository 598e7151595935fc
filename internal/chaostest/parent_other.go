//go:build !linux

package chaostest

import "syscall"

// dieWithParent exists on Linux only; elsewhere a killed test binary leaves its sidecars.
func dieWithParent() *syscall.SysProcAttr { return nil }
