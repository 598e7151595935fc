package main

import (
	"net"

	"github.com/coxswain-sidecar/coxswain/internal/coord/fleet"
)

// about returns the description of this sidecar in the registry of sidecars.
func (a *app) about() fleet.About {
	about := fleet.About{Pod: a.pod, Address: a.address(), Version: version, StartedAtMS: a.started.UnixMilli()}
	for _, r := range a.rules.InForce() {
		about.Rules, about.RulesRevision = about.Rules+1, max(about.RulesRevision, r.Revision)
	}
	return about
}

// address returns the address by which other pods reach the health pages; empty if there are none, or if only this pod reaches
// them.
func (a *app) address() string {
	if a.port == nil {
		return ""
	}
	at, ok := a.port.Addr().(*net.TCPAddr)
	if !ok || at.IP.IsLoopback() {
		return ""
	}
	host := at.IP
	if host.IsUnspecified() {
		if host = podIP(); host == nil {
			return ""
		}
	}
	return (&net.TCPAddr{IP: host, Port: at.Port}).String()
}

// podIP returns the first address of this host that other hosts may reach; nil = there is none.
func podIP() net.IP {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP
		}
	}
	return nil
}
