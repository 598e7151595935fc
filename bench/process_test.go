package main

import (
	"slices"
	"testing"
)

func TestChildrenAreNotChangedByThisProgramsEnvironment(t *testing.T) {
	t.Setenv("COXSWAIN_IMAGE_TAR", "x")
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("GOMEMLIMIT", "1GiB")
	t.Setenv("KEPT", "x")
	got := command([]string{"COXSWAIN_REDIS_PREFIX=new"}, "true").Env
	for v, want := range map[string]bool{
		"COXSWAIN_IMAGE_TAR=x": false, "OTEL_TRACES_EXPORTER=otlp": false, "GOMEMLIMIT=1GiB": false, "KEPT=x": true, "COXSWAIN_REDIS_PREFIX=new": true,
	} {
		if slices.Contains(got, v) != want {
			t.Errorf("%s: got it %v, want %v", v, !want, want)
		}
	}
}
