package look_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/look"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a sidecar whose locks are on pages, and whose other lists have none.
type fake struct {
	mu     sync.Mutex // guards what follows
	pid    int64
	pages  [][]api.LockEntry
	counts []int64 // what lock.list was asked for
	err    error   // of lock.list
}

func (f *fake) ask(_ context.Context, method string, params, result any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch method {
	case api.InspectSnapshot.Name:
		*result.(*api.InspectResult) = api.InspectResult{PID: f.pid}
	case api.LockList.Name:
		p := params.(api.LockListParams)
		f.counts = append(f.counts, p.Count)
		if f.err != nil {
			return f.err
		}
		at, _ := strconv.Atoi(p.Cursor) // empty = the first page
		r := api.LockListResult{Locks: f.pages[at]}
		if at+1 < len(f.pages) {
			r.Cursor = strconv.Itoa(at + 1)
		}
		*result.(*api.LockListResult) = r
	}
	return nil
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func entry(name string, waiting int64) api.LockEntry {
	return api.LockEntry{Name: name, Waiting: waiting}
}

// looks looks once more and returns the names of the locks and the note about them.
func looks(t *testing.T, l *look.Looker) (names []string, note string) {
	t.Helper()
	is, err := l.Look(t.Context())
	require.NoError(t, err)
	return shown(is)
}

func shown(is look.Look) (names []string, note string) {
	for _, e := range is.Locks.Rows {
		names = append(names, e.Name)
	}
	return names, is.Locks.Note(is.At)
}

func TestAPageWithoutRowsIsNotTheEnd(t *testing.T) {
	t.Parallel()
	f := &fake{pages: [][]api.LockEntry{nil, nil, {entry("nightly", 0)}}}
	l := look.New(f.ask)
	names, note := looks(t, l)
	require.Empty(t, names)
	require.Equal(t, "still looking: 1 page so far, and there are more keys", note)
	_, note = looks(t, l)
	require.Equal(t, "still looking: 2 pages so far, and there are more keys", note)
	names, note = looks(t, l)
	require.Equal(t, []string{"nightly"}, names)
	require.Empty(t, note)
	require.Equal(t, []int64{1000, 1000, 1000}, f.counts, "where few rows come, pages are long")
}

func TestRowsOfTheRoundBeforeStayUntilTheNextIsComplete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, rowsStay) // by the bubble's clock no time passes, and the note says how old a row may be
}

func rowsStay(t *testing.T) {
	f := &fake{pages: [][]api.LockEntry{{entry("a", 0), entry("b", 0)}, {entry("c", 0)}}}
	l := look.New(f.ask)
	names, _ := looks(t, l)
	require.Equal(t, []string{"a", "b"}, names)
	names, note := looks(t, l)
	require.Equal(t, []string{"a", "b", "c"}, names)
	require.Empty(t, note)
	f.set(func() { f.pages = [][]api.LockEntry{{entry("b", 3)}, {entry("d", 0)}} })
	names, note = looks(t, l)
	require.Equal(t, []string{"b", "a", "c"}, names, "what was found again is new, and ranks by it")
	require.Equal(t, "there are many keys: a row may be 0s old", note)
	names, note = looks(t, l)
	require.Equal(t, []string{"b", "d"}, names)
	require.Empty(t, note)
}

func TestARowMayBeAsOldAsItsRound(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := look.List[api.LockEntry]{Pages: 1, Began: now.Add(-90 * time.Second), Left: 5}
	require.Equal(t, "there are many keys: a row may be 1m30s old; there are 5 more; the command list of the noun shows all", l.Note(now))
}

func TestWholeGoesOnUntilAllIsSeenOrItIsEnough(t *testing.T) {
	t.Parallel()
	f := &fake{pages: make([][]api.LockEntry, 7)}
	f.pages[6] = []api.LockEntry{entry("last", 0)}
	is, err := look.New(f.ask).Whole(t.Context(), 10)
	require.NoError(t, err)
	names, note := shown(is)
	require.Equal(t, []string{"last"}, names)
	require.Empty(t, note)
	require.Len(t, f.counts, 7)

	is, err = look.New(f.ask).Whole(t.Context(), 3)
	require.NoError(t, err)
	names, note = shown(is)
	require.Empty(t, names)
	require.Equal(t, "still looking: 3 pages so far, and there are more keys", note)
}

func TestTheFirstOfTheRankingAreKept(t *testing.T) {
	t.Parallel()
	f := &fake{}
	for p := range 10 {
		var page []api.LockEntry
		for i := range 700 {
			page = append(page, entry(fmt.Sprintf("lock-%d-%d", p, i), int64(i)))
		}
		f.pages = append(f.pages, page)
	}
	is, err := look.New(f.ask).Whole(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, is.Locks.Rows, look.MaxRows)
	require.EqualValues(t, 699, is.Locks.Rows[0].Waiting)
	require.EqualValues(t, 500, is.Locks.Rows[look.MaxRows-1].Waiting)
	require.Equal(t, 5000, is.Locks.Left)
	require.Equal(t, "there are 5000 more; the command list of the noun shows all", is.Locks.Note(is.At))
	require.Equal(t, []int64{1000, 200}, f.counts[:2], "where many rows come, pages are short")
}

// If one list cannot be read, its note has the error. It keeps its earlier rows, and the other lists are complete.
func TestAListThatFailsSaysWhyAndGoesOn(t *testing.T) {
	t.Parallel()
	f := &fake{pages: [][]api.LockEntry{{entry("a", 0)}, {entry("b", 0)}}}
	l := look.New(f.ask)
	looks(t, l)
	f.set(func() { f.err = &api.Error{Code: api.Unavailable, Message: "redis cannot be reached"} })
	names, note := looks(t, l)
	require.Equal(t, []string{"a"}, names)
	require.Equal(t, "UNAVAILABLE: redis cannot be reached", note)
	f.set(func() { f.err = nil })
	names, note = looks(t, l)
	require.Equal(t, []string{"a", "b"}, names, "it goes on where it was")
	require.Empty(t, note)

	looks(t, l)
	f.set(func() {
		f.err = &api.Error{Code: api.InvalidArgument, Message: "cursor: not one that lock.list answered"}
	})
	_, note = looks(t, l)
	require.Contains(t, note, "cursor: ")
	f.set(func() { f.err, f.pages = nil, [][]api.LockEntry{{entry("c", 0)}} })
	names, note = looks(t, l)
	require.Equal(t, []string{"c"}, names, "a cursor that means nothing any more begins the round anew")
	require.Empty(t, note)

	f.set(func() { f.err = errors.New("broken pipe") })
	_, note = looks(t, l)
	require.Equal(t, "broken pipe", note)
}

func TestAnotherSidecarIsLookedAtAnew(t *testing.T) {
	t.Parallel()
	f := &fake{pages: [][]api.LockEntry{{entry("a", 0)}, {entry("b", 0)}}}
	l := look.New(f.ask)
	looks(t, l)
	f.set(func() { f.pid, f.pages = 1, [][]api.LockEntry{{entry("c", 0)}, nil} })
	names, note := looks(t, l)
	require.Equal(t, []string{"c"}, names)
	require.Equal(t, "still looking: 1 page so far, and there are more keys", note)
}

func TestALookEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := &fake{pages: [][]api.LockEntry{nil}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := look.New(f.ask).Look(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
