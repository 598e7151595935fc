package coord

import (
	"context"
	"errors"
	"strconv"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// stepsAtOnce bounds the steps of one page. If matching rows are rare, a page may therefore be
// empty and not the last.
const stepsAtOnce = 20

// Paged returns a page of about count rows, from the cursor that the page before ended with,
// empty for the first. Step reads some more rows; its cursors are those of Paged. Method is
// the method that lists, such as lock.list, for errors.
func Paged[E any](
	ctx context.Context, method, cursor string, count int64, step func(ctx context.Context, cursor string, count int64) ([]E, string, error),
) (rows []E, next string, _ error) {
	next = cursor
	for range stepsAtOnce {
		some, at, err := step(ctx, next, count)
		switch {
		case errors.Is(err, redis.ErrCursor):
			return nil, "", Invalid("cursor: not one that %s answered; leave it out to begin anew", method)
		case err != nil:
			return nil, "", Failed(method, err)
		}
		rows, next = append(rows, some...), at
		if next == "" || int64(len(rows)) >= count {
			break
		}
	}
	return rows, next, nil
}

// Listing lists what a noun keeps in Redis: SCAN finds the keys, node by node, and scripts read the state of each.
type Listing[E any] struct {
	Runner *lua.Runner
	Method string // as of Paged
	// Pattern is the pattern of the keys. It may match other keys too.
	Pattern string
	// Read returns the rows of these keys. A key may have no row.
	Read func(ctx context.Context, keys []string) ([]E, error)
}

// Page returns a page as Paged does, in no order. A row whose key exists during the whole listing is on at least one page,
// and may be on two; a row that is added or removed meanwhile may be missing.
func (l Listing[E]) Page(ctx context.Context, cursor string, count int64) ([]E, string, error) {
	return Paged(ctx, l.Method, cursor, count, func(ctx context.Context, cursor string, count int64) ([]E, string, error) {
		keys, next, err := l.Runner.Scan(ctx, l.Pattern, cursor, int(count))
		if err != nil {
			return nil, "", err
		}
		rows, err := l.Read(ctx, keys)
		return rows, next, err
	})
}

// ReadEach runs a script for each key of a page, unless in returns false for it, and makes a row from each outcome,
// unless row returns false.
func ReadEach[I, O, E any](
	ctx context.Context, r *lua.Runner, s lua.Script[I, O], keys []string, in func(key string) (I, bool), row func(key string, v O) (E, bool),
) (rows []E, err error) {
	var ins []I
	var of []string
	for _, key := range keys {
		if i, ok := in(key); ok {
			ins, of = append(ins, i), append(of, key)
		}
	}
	outs, errs := lua.Batch(ctx, r, s, ins)
	for i, out := range outs {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if e, ok := row(of[i], out.Value); ok {
			rows = append(rows, e)
		}
	}
	return rows, nil
}

// HashCursor converts a cursor of Paged to one of HSCAN. It returns redis.ErrCursor for a text that is not a cursor.
func HashCursor(cursor string) (string, error) {
	if cursor == "" {
		return "0", nil
	}
	if _, err := strconv.ParseUint(cursor, 10, 64); err != nil {
		return "", redis.ErrCursor
	}
	return cursor, nil
}

// NextOfHash converts the cursor that HSCAN returned to one of Paged.
func NextOfHash(cursor string) string {
	if cursor == "0" {
		return ""
	}
	return cursor
}
