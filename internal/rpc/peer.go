package rpc

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// peer returns the user and the primary group of the process that connected, as the kernel reports them.
func peer(nc *net.UnixConn) (uid, gid int, err error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *syscall.Ucred
	if cerr := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); cerr != nil {
		return 0, 0, cerr
	}
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), int(cred.Gid), nil
}

// peerGroups returns the supplementary groups that the peer had when it connected.
func peerGroups(nc *net.UnixConn) (groups []uint32, err error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return nil, err
	}
	const size = unsafe.Sizeof(uint32(0))
	groups = make([]uint32, 32)
	cerr := raw.Control(func(fd uintptr) {
		for {
			bytes := uint32(len(groups)) * uint32(size)
			_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.SOL_SOCKET, unix.SO_PEERGROUPS,
				uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&bytes)), 0) //nolint:gosec // the kernel is given the size
			n := int(bytes) / int(size)
			switch {
			case errno == 0:
				groups = groups[:n]
				return
			case !errors.Is(errno, syscall.ERANGE) || n <= len(groups):
				groups, err = nil, errno
				return
			}
			groups = make([]uint32, n) // n is how many the kernel reported
		}
	})
	return groups, errors.Join(cerr, err)
}

// allowed reports whether a peer may connect: no list is set, or its user or any of its
// groups is in one.
func (s *Server) allowed(nc *net.UnixConn, uid, gid int) bool {
	uids, gids := s.opts.AllowedUIDs, s.opts.AllowedGIDs
	if len(uids)+len(gids) == 0 || slices.Contains(uids, uid) || slices.Contains(gids, gid) {
		return true
	}
	if len(gids) == 0 {
		return false
	}
	groups, err := peerGroups(nc)
	if err != nil {
		s.opts.Log.Warn("peer credentials: supplementary groups", "error", err)
	}
	return slices.ContainsFunc(groups, func(g uint32) bool { return slices.Contains(gids, int(g)) })
}
