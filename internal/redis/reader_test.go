package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// anything are scripts for tests, which run one command with the key after its first word, or
// after its second.
var anything = map[int]string{
	1: "return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))",
	2: "return redis.call(ARGV[1], ARGV[2], KEYS[1], unpack(ARGV, 3))",
}

// streamed is a store, and a stream on it with the group g.
type streamed struct {
	*redis.Store
	t   *testing.T
	key string
}

func openStream(t *testing.T, o redis.Options) *streamed {
	t.Helper()
	s, err := redis.Open(patient(o), redis.Scripts{Texts: []string{anything[1], anything[2]}, SHAs: []string{sha(anything[1]), sha(anything[2])}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	x := &streamed{s, t, redistest.Prefix(t)}
	x.open()
	return x
}

// do runs a command whose key comes after so many words.
func (s *streamed) do(words int, args ...any) any {
	s.t.Helper()
	ctx := deadline(s.t)
	for {
		try := &redis.Try{Args: append([]any{redis.EvalSHA, sha(anything[words]), 1, s.key}, args...), Script: "anything"}
		if s.Route(ctx, try, true) {
			try.Send(ctx)
			if try.Failure.Verdict == redis.Answered {
				return try.Reply
			}
			try.Recover(ctx)
		}
		require.NoError(s.t, ctx.Err(), "%v", try.Failure.Err)
	}
}

func (s *streamed) open() { s.do(2, "xgroup", "create", "g", "0-0", "mkstream") }

func (s *streamed) add(message string, more ...any) string {
	id, _ := s.do(1, append([]any{"xadd", "*", "m", message}, more...)...).(string)
	return id
}

// reader is closed with the test.
func (s *streamed) reader() *redis.Reader {
	r := s.Reader(s.key)
	s.t.Cleanup(r.Close)
	return r
}

// got is what a read returned.
type got struct {
	entries []redis.Entry
	err     error
}

// begin reads in the background, and returns when the reader has its connection.
func (s *streamed) begin(ctx context.Context, r *redis.Reader) <-chan got {
	read := make(chan got, 1)
	go func() {
		for {
			entries, err := r.Read(ctx, "g", "me", 10, redis.MostBlock)
			if err != nil || len(entries) > 0 {
				read <- got{entries, err}
				return
			}
		}
	}()
	require.Eventually(s.t, func() bool { return redis.Dialled(r) }, time.Minute, time.Millisecond)
	return read
}

func TestAReaderIsGivenEntries(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		readerIsGivenEntries(t, url)
	})
}

func TestTopologyAReaderIsGivenEntries(t *testing.T) {
	t.Parallel()
	redistest.Topologies(t, readerIsGivenEntries)
}

func readerIsGivenEntries(t *testing.T, url string) {
	s := openStream(t, redis.Options{URL: url})
	r := s.reader()
	none, err := r.Read(deadline(t), "g", "me", 10, 0)
	require.NoError(t, err)
	require.Empty(t, none)
	none, err = r.Read(deadline(t), "g", "me", 10, 10*time.Millisecond)
	require.NoError(t, err, "a read that nothing came for ends with its block")
	require.Empty(t, none)

	news, err := r.Await(deadline(t), "0-0", 10*time.Millisecond)
	require.NoError(t, err)
	require.False(t, news)

	read := s.begin(deadline(t), r)
	one := s.add("one", "g", "other")
	require.Equal(t, got{entries: []redis.Entry{{ID: one, Message: "one", Only: "other"}}}, <-read)
	two, three := s.add("two"), s.add("three\x00\xff")
	news, err = r.Await(deadline(t), one, redis.MostBlock)
	require.NoError(t, err)
	require.True(t, news, "it was added, and is given to nobody")
	news, err = r.Await(deadline(t), three, 0)
	require.NoError(t, err)
	require.False(t, news)
	entries, err := r.Read(deadline(t), "g", "me", 1, 0)
	require.NoError(t, err)
	require.Equal(t, []redis.Entry{{ID: two, Message: "two"}}, entries)
	entries, err = r.Read(deadline(t), "g", "me", 10, 0)
	require.NoError(t, err)
	require.Equal(t, []redis.Entry{{ID: three, Message: "three\x00\xff"}}, entries)

	_, err = r.Read(deadline(t), "another", "me", 1, 0)
	require.ErrorIs(t, err, redis.ErrNoGroup)
	read = s.begin(deadline(t), r)
	s.do(1, "del")
	require.ErrorIs(t, (<-read).err, redis.ErrNoGroup)
	s.open()
	four := s.add("four")
	entries, err = r.Read(deadline(t), "g", "me", 1, redis.MostBlock)
	require.NoError(t, err)
	require.Equal(t, four, entries[0].ID)
}

func TestAReadEndsWithItsReaderOrItsContext(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		readEndsEarly(t, url)
	})
}

func TestTopologyAReadEndsWithItsReaderOrItsContext(t *testing.T) {
	t.Parallel()
	redistest.Topologies(t, readEndsEarly)
}

func readEndsEarly(t *testing.T, url string) {
	s := openStream(t, redis.Options{URL: url})
	r := s.reader()
	ctx, cancel := context.WithCancel(t.Context())
	read := s.begin(ctx, r)
	cancel()
	require.ErrorIs(t, (<-read).err, context.Canceled)

	// The reader can be used after that. The server may give entries to the cancelled read until it
	// notices that the connection is closed.
	read = s.begin(deadline(t), r)
	var next got
	added := map[string]bool{}
	require.Eventually(t, func() bool {
		added[s.add("one")] = true
		select {
		case next = <-read:
			return true
		default:
			return false
		}
	}, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, next.err)
	require.NotEmpty(t, next.entries) // more than one if they were added before the command was sent
	for _, e := range next.entries {
		require.True(t, added[e.ID])
	}
	_, err := r.Read(deadline(t), "g", "me", len(added), 0) // the rest
	require.NoError(t, err)

	read = s.begin(deadline(t), r)
	r.Close()
	require.ErrorIs(t, (<-read).err, redis.ErrMaybeExecuted)
	r.Close()
	_, err = r.Read(deadline(t), "g", "me", 1, 0)
	require.Error(t, err)

	r = s.reader()
	read = s.begin(deadline(t), r)
	require.NoError(t, s.Close())
	require.Error(t, (<-read).err)
}

// A server stops in the middle of a read, and sends nothing.
func TestAReadEndsWhenTheServerIsSilent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStream(t, redis.Options{URL: server.URL(), CommandTimeout: 5 * time.Second})
	r := s.reader()
	read := s.begin(deadline(t), r)
	server.Pause()
	err := (<-read).err
	var why *redis.Trouble
	require.ErrorAs(t, err, &why)
	require.True(t, redis.IsSuspect(why.Name), "%v", err)
	server.Resume()
	added := map[string]bool{}
	require.Eventually(t, func() bool {
		added[s.add("one")] = true
		entries, err := r.Read(deadline(t), "g", "me", 1, redis.MostBlock)
		return err == nil && len(entries) == 1 && added[entries[0].ID]
	}, time.Minute, time.Millisecond)
}

// A read uses no connection of the pool.
func TestReadsDoNotUseThePool(t *testing.T) {
	t.Parallel()
	s := openStream(t, redis.Options{URL: redistest.Start(t).URL(), MaxConns: 1})
	ctx, cancel := context.WithCancel(t.Context())
	var reads []<-chan got
	for range 3 {
		reads = append(reads, s.begin(ctx, s.reader()))
	}
	require.EqualValues(t, 0, s.do(1, "xlen"))
	cancel()
	for _, read := range reads {
		require.ErrorIs(t, (<-read).err, context.Canceled)
	}
}

func TestTopologyAReaderFollowsAFailover(t *testing.T) {
	t.Parallel()
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		set := redistest.StartSentinel(t)
		readerFollows(t, set.URL(), func(string) { set.Failover() })
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		set := redistest.StartCluster(t)
		readerFollows(t, set.URL(), set.Failover)
	})
}

func readerFollows(t *testing.T, url string, failover func(key string)) {
	s := openStream(t, redis.Options{URL: url})
	r := s.reader()
	read := s.begin(deadline(t), r)
	failover(s.key)
	// An entry that the old master still accepts after the new one was promoted is lost, so that more are added.
	added := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(added)
		for ctx.Err() == nil {
			try := &redis.Try{Args: []any{redis.EvalSHA, sha(anything[1]), 1, s.key, "xadd", "*", "m", "after"}, Script: "anything"}
			if s.Route(ctx, try, false) {
				try.Send(ctx)
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	defer func() { cancel(); <-added }()
	seen := func(g got) bool { return g.err == nil && len(g.entries) > 0 && g.entries[0].Message == "after" }
	if seen(<-read) {
		return
	}
	require.Eventually(t, func() bool {
		entries, err := r.Read(t.Context(), "g", "me", 1, redis.MostBlock)
		return seen(got{entries, err})
	}, 2*time.Minute, time.Millisecond)
}
