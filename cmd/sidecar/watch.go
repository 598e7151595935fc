package main

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// burst is how long events are collected before the files are checked, since other files of
	// the folders may change all the time.
	burst = 100 * time.Millisecond
	// settle is how long the files must stay unchanged before they are read. A program that
	// writes a file in place may pause, and the beginning of a list of rules is a valid list.
	settle = time.Second
	// mostRounds bounds the waiting for files that change all the time.
	mostRounds = 10
)

// watchConfig starts watching the files. If the system provides no watch, SIGHUP still causes a reload.
func (a *app) watchConfig() error {
	r := newReloads(a, a.origin)
	var w *fsnotify.Watcher
	if len(r.origin.files) > 0 && !r.once {
		var err error
		if w, err = fsnotify.NewWatcher(); err != nil {
			a.log.Warn("changes of the configuration are not seen: send SIGHUP after them, or raise fs.inotify.max_user_instances", "err", err)
		} else {
			r.watch.Go(func() { r.run(w) })
		}
	}
	a.reloads.Store(r)
	a.onStop("reloads", cleanupTime, func(context.Context) error {
		a.reloads.Store(nil)
		close(r.done)
		r.watch.Wait()
		if w == nil {
			return nil
		}
		return w.Close()
	})
	return nil
}

// run reloads when the files change, until done.
func (r *reloads) run(w *fsnotify.Watcher) {
	watched := make(map[string]fs.FileInfo)
	for {
		files := r.files()
		r.follow(w, watched, files)
		// The files are checked after the watch has begun, so that no change between the two is missed.
		if changed(files) {
			if !settled(files, func() bool { return r.pass(w, settle) }) {
				return
			}
			_ = r.reload() // it logs its outcome
			continue
		}
		select {
		case <-r.done:
			return
		case <-r.again:
		case err := <-w.Errors:
			r.missed(err)
		case <-w.Events:
			r.pass(w, burst)
		}
	}
}

// missed logs that events were lost, most likely since they came too fast. Nothing is missed by that,
// since the files themselves are checked next.
func (r *reloads) missed(err error) {
	r.app.log.Debug("events of the configuration's folders were lost", "err", err)
}

// files returns the files that were read last, with their state at that time.
func (r *reloads) files() map[string]fs.FileInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.origin.files)
}

// changed reports whether any file differs from the one that was read.
func changed(files map[string]fs.FileInfo) bool {
	for path, was := range files {
		now, err := os.Stat(path)
		switch {
		case err != nil && was == nil:
		case err != nil || was == nil,
			!os.SameFile(was, now), !was.ModTime().Equal(now.ModTime()), was.Size() != now.Size():
			return true
		}
	}
	return false
}

// settled waits until the files have not changed during a pass, or for mostRounds passes. It returns
// false if pass does.
func settled(files map[string]fs.FileInfo, pass func() bool) bool {
	for range mostRounds {
		was := make(map[string]fs.FileInfo, len(files))
		for path := range files {
			was[path], _ = os.Stat(path) // nil for one that is missing
		}
		if !pass() {
			return false
		}
		if !changed(was) {
			break
		}
	}
	return true
}

// pass waits for d and ignores events. It returns false if the watch has been stopped.
func (r *reloads) pass(w *fsnotify.Watcher, d time.Duration) bool {
	over := time.NewTimer(d)
	defer over.Stop()
	for {
		select {
		case <-w.Events:
		case err := <-w.Errors:
			r.missed(err)
		case <-over.C:
			return true
		case <-r.done:
			return false
		}
	}
}

// follow watches the folders in which a change can replace the files. A folder that was itself replaced
// is watched again, since a watch is on the folder and not on its name.
func (r *reloads) follow(w *fsnotify.Watcher, watched, files map[string]fs.FileInfo) {
	want := make(map[string]bool)
	for path := range files {
		for _, dir := range folders(path) {
			want[dir] = true
		}
	}
	for _, dir := range slices.Collect(maps.Keys(watched)) {
		now, err := os.Stat(dir)
		if want[dir] && err == nil && os.SameFile(watched[dir], now) && slices.Contains(w.WatchList(), dir) {
			continue
		}
		_ = w.Remove(dir) // it fails if the watch ended with its folder
		delete(watched, dir)
	}
	for dir := range want {
		if watched[dir] != nil {
			continue
		}
		info, err := os.Stat(dir)
		if err == nil {
			err = w.Add(dir)
		}
		if err != nil {
			r.app.log.Warn("changes of the configuration are not seen in this folder: send SIGHUP after them", "folder", dir, "err", err)
			continue
		}
		watched[dir] = info
	}
}

// maxLinks is how many links the kernel follows in a path.
const maxLinks = 40

// folders lists the folders in which a change can make path another file: the one that holds it, and
// those of the links on the way to it, such as ..data of a mounted ConfigMap. If the path ends early,
// the last folder is the one in which the missing part may appear.
func folders(path string) []string {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	var dirs []string
	for range maxLinks {
		dir, rest, target := nextLink(path)
		dirs = append(dirs, dir)
		if target == "" {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = filepath.Join(target, rest)
	}
	return dirs
}

// nextLink walks an absolute path to its first link, and returns the folder that
// holds it, what the link points to and the path after it; without a link, the
// folder of the last element that exists.
func nextLink(path string) (dir, rest, target string) {
	dir = "/"
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		at := filepath.Join(dir, part)
		info, err := os.Lstat(at)
		if err != nil || i == len(parts)-1 && info.Mode().Type() != fs.ModeSymlink {
			return dir, "", ""
		}
		if info.Mode().Type() == fs.ModeSymlink {
			target, err = os.Readlink(at)
			if err != nil {
				return dir, "", ""
			}
			return dir, filepath.Join(parts[i+1:]...), target
		}
		dir = at
	}
	return dir, "", ""
}
