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
	// burst is how long events are taken together, since the folders may have other
	// files, which change all the time.
	burst = 100 * time.Millisecond
	// settle is how long the files must stand as they are before they are read.
	// Whoever writes in place may pause, and the beginning of a list of rules is a
	// list of rules too.
	settle = time.Second
	// mostRounds bounds how often that is tried with files that never stand.
	mostRounds = 10
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
			if !settled(files, func() bool { return r.pass(w, settle) }) {
				return
			}
			_ = r.reload() // it has told
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

// settled returns when the files have stood as they are while a time passed, or
// never do so; false when it is done.
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

// pass lets time pass without heed of events; false when it is done.
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
