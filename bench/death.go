package main

import (
	"context"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
)

// clientKilled measures how long a lock stays held after its holder's process was killed, in ms.
func clientKilled(ctx context.Context, s *side, _ time.Duration) (sample, error) {
	return s.outlived(ctx, func() (func(), error) {
		w, err := startWorker(task{Kind: kindHolder, Socket: s.usual.socket})
		if err != nil {
			return nil, err
		}
		return w.kill, nil
	})
}

// lockTTL is the TTL of the lock of a sidecar that is killed, which is free only when it ends.
const lockTTL = 2 * time.Second

// sidecarKilled measures the same after the holder's sidecar was killed. It does not wait for
// what the holder's client does then.
func sidecarKilled(ctx context.Context, s *side, _ time.Duration) (sample, error) {
	srv, err := s.serve(ctx, variant{name: "doomed"})
	if err != nil {
		return sample{}, err
	}
	defer srv.stop()
	c, err := dialed(ctx, srv.socket, 1)
	if err != nil {
		return sample{}, err
	}
	defer c.Close()
	return s.outlived(ctx, func() (func(), error) {
		_, err := c.LockAcquire(ctx, heldName, client.LockOptions{TTL: lockTTL})
		return srv.kill, err
	})
}

// outlived waits in line for the lock that hold takes, kills its holder, and measures from
// there until it has the lock.
func (s *side) outlived(ctx context.Context, hold func() (kill func(), err error)) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := dialed(ctx, s.usual.socket, 1)
	if err != nil {
		return sample{}, err
	}
	defer c.Close()
	kill, err := hold()
	if err != nil {
		return sample{}, err
	}
	acquired := make(chan error, 1)
	var had time.Time
	go func() {
		l, err := c.LockAcquire(ctx, heldName, client.LockOptions{Wait: 30 * time.Second})
		had = time.Now()
		if err == nil {
			err = l.Release(ctx)
		}
		acquired <- err
	}()
	err = until(ctx, func() error {
		r, err := c.LockGet(ctx, heldName)
		if err == nil && r.Waiting != 1 {
			err = fmt.Errorf("%d calls wait in line for the lock, want 1", r.Waiting)
		}
		return err
	})
	killed := time.Now()
	kill()
	if err := <-acquired; err != nil {
		return sample{}, err
	}
	return sample{value: had.Sub(killed).Seconds() * 1000}, err
}
