//go:build unix

package client_test

import (
	"bufio"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// A program that ends lets go of what it held, although a child of it lives on: the
// sidecar hears of the end only when no process has the connection open.
func TestAChildOfTheProgramKeepsNoConnectionOpen(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := dial(t, f.listen(), client.Options{Connections: 2})
	var peers []*peer
	for len(peers) < 2 { // the connections take turns
		_, err := client.Call(t.Context(), c, api.SessionPing, api.Nothing{})
		require.NoError(t, err)
		if p := f.next(api.SessionPing.Name).peer; len(peers) == 0 || peers[0] != p {
			peers = append(peers, p)
		}
	}
	child := exec.CommandContext(t.Context(), "cat")
	to, err := child.StdinPipe()
	require.NoError(t, err)
	from, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())

	require.NoError(t, c.Close()) // as the kernel does at the program's end
	for _, p := range peers {
		select {
		case <-p.ended:
		case <-time.After(patience):
			require.Fail(t, "the child keeps a connection open")
		}
	}
	_, err = to.Write([]byte("alive\n"))
	require.NoError(t, err)
	line, err := bufio.NewReader(from).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "alive\n", line, "it lives longer than the connections")
	require.NoError(t, to.Close())
	require.NoError(t, child.Wait())
}
