package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
)

func TestTheKeyOfALockHasTheDocumentedForm(t *testing.T) {
	t.Parallel()
	k := coord.NewKeys("coxswain", "")
	require.Equal(t, "coxswain:v2:{nightly}:lock", lock.Key(k, "nightly"))
	require.Equal(t, "coxswain:acme:v2:{nightly}:lock", lock.Key(coord.NewKeys("coxswain", "acme"), "nightly"))
	require.Equal(t, "coxswain:v2:{a%3Ab}:lock", lock.Key(k, "a:b"))
	rapid.Check(t, func(t *rapid.T) {
		name := coordtest.Nasty(1).Draw(t, "name")
		require.Equal(t, coordtest.LockKey(k, name), lock.Key(k, name))
	})
}
