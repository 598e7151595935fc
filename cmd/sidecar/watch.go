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
	// settle is how long the folders must be quiet before the files are read, so
	// that one change that comes as a burst of events is read once and whole.
	settle = 100 * time.Millisecond
	// mostSettle bounds the wait where something else writes all the time.
	mostSettle = time.Second
)

// watchConfig starts following the files. Where the system gives no watch, a
// SIGHUP still does.
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
		// Looked at after the watch is on, so that no change is between the two.
		if changed(files) {
			_ = r.reload() // it has told
			r.quiet(w)
			continue
		}
		select {
		case <-r.done:
			return
		case <-r.again:
		case err := <-w.Errors:
			r.missed(err)
		case <-w.Events:
			r.quiet(w)
		}
	}
}

// missed tells of events that were lost, most likely for coming too fast. No harm
// is done: the files themselves are looked at next.
func (r *reloads) missed(err error) {
	r.app.log.Debug("events of the configuration's folders were lost", "err", err)
}

// files is what was read last.
func (r *reloads) files() map[string]fs.FileInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.origin.files)
}

// changed reports whether any file is another than the one that was read.
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

// quiet returns when no event has come for a while, or too many have.
func (r *reloads) quiet(w *fsnotify.Watcher) {
	most := time.NewTimer(mostSettle)
	defer most.Stop()
	for {
		still := time.NewTimer(settle)
		select {
		case <-w.Events:
			still.Stop()
			continue
		case err := <-w.Errors:
			r.missed(err)
			still.Stop()
			continue
		case <-still.C:
		case <-most.C:
		case <-r.done:
		}
		still.Stop()
		return
	}
}

// follow watches the folders that decide what the files are. A folder that was
// replaced is watched anew: a watch is on the folder, not on its name.
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
		_ = w.Remove(dir) // gone with its folder, maybe
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

// folders lists those in which a change can make path another file: the one that
// holds it and the one of each link on the way to it, such as ..data of a mounted
// ConfigMap. Where the way ends early, the last of them is where it may go on.
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
