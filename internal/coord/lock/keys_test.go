package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
)

func TestTheKeyOfALockHasTheDocumentedForm(t *testing.T) {
	t.Parallel()
	k := coord.NewKeys("coxswain", "")
	require.Equal(t, "coxswain:v1:{nightly}:lock", lock.Key(k, "nightly"))
	require.Equal(t, "coxswain:acme:v1:{nightly}:lock", lock.Key(coord.NewKeys("coxswain", "acme"), "nightly"))
	require.Equal(t, "coxswain:v1:{a%3Ab}:lock", lock.Key(k, "a:b"))
}
