package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// base is the sidecar of another commit.
type base struct {
	commit string // the hash as git abbreviates it
	binary string
}

// buildBase builds the sidecar of a commit in a worktree of its own in dir, and removes the
// worktree.
func buildBase(ctx context.Context, dir, ref string) (b base, err error) {
	// In the repository of the working directory.
	commit, err := git(ctx, "rev-parse", "--short", "--verify", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return b, fmt.Errorf("BASE=%s names no commit of this repository: give a branch, a tag or a hash: %w", ref, err)
	}
	b = base{commit, filepath.Join(dir, "base-sidecar")}
	tree := filepath.Join(dir, "base")
	if _, err := git(ctx, "worktree", "add", "--quiet", "--detach", tree, commit); err != nil {
		return b, err
	}
	defer func() {
		// Also after an interrupt: otherwise git would list the worktree until the next prune.
		_, removal := git(context.WithoutCancel(ctx), "worktree", "remove", "--force", tree)
		err = errors.Join(err, removal)
	}()
	fmt.Fprintf(os.Stderr, "building the sidecar of %s\n", commit)
	build := exec.CommandContext(ctx, "go", "build", "-tags", "grpcnotrace", "-ldflags", "-X main.version="+commit, "-o", b.binary, "./cmd/sidecar")
	build.Dir = tree
	if out, err := build.CombinedOutput(); err != nil {
		return b, fmt.Errorf("build the sidecar of %s: %w: %s", commit, err, out)
	}
	return b, nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
