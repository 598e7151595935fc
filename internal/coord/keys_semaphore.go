package coord

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// semaphoreKeys are those of semaphores.
type semaphoreKeys struct{ Keys }

// semaphore is a semaphore's leases, who holds them and how many permits each,
// and the line for them.
func (k semaphoreKeys) semaphore(name string) (s lua.SemaphoreKeys, line lua.LineKeys) {
	leases := k.key(Escaped(name), "sem", "")
	return lua.SemaphoreKeys{Leases: leases, Holders: leases + ":holders", Weights: leases + ":weights"}, lineKeys(leases)
}

// semaphoreGone is the mark that a token gave permits back.
func (k semaphoreKeys) semaphoreGone(name, token string) string {
	return k.key(Escaped(name), "sem:gone:", Escaped(token))
}
