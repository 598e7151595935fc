package main

import (
	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

// serveFlags are the flags of serve that are about the configuration.
type serveFlags struct{ file string }

// settingFlags set single values of the configuration.
var settingFlags = []struct{ name, path, help string }{
	{"socket", "socket.path", "`path` of the socket to serve (default " + config.DefaultSocket + ")"},
	{"redis", "redis.url", "address of Redis, a `url`: redis://[user:password@]host:port[/db] (rediss:// for TLS), unix:///path, " +
		"redis+sentinel://host,host/master, redis+cluster://host,host, or embedded for a development store in this process; " +
		"put one with a password into COXSWAIN_REDIS_URL instead"},
	{"http", "http.addr", "`address` of the health and metrics pages, host:port; empty for none (default :8086)"},
	{"status", "http.status_addr", "`address` of the status page, 127.0.0.1:port; empty = no status page, the default"},
	{"log-level", "telemetry.log_level", "`level` of the log: debug, info, warn or error (default info)"},
}

func addServeFlags(cmd *cobra.Command) *serveFlags {
	f := &serveFlags{}
	cmd.Flags().StringVar(&f.file, "config", "", "YAML `file` to read (default the one that "+config.EnvConfig+" names, if any)")
	for _, s := range settingFlags {
		cmd.Flags().String(s.name, "", s.help)
	}
	return f
}

// sources returns the file, the environment and the flags that were given.
func (f *serveFlags) sources(cmd *cobra.Command, p process) config.Sources {
	src := config.Sources{File: f.file, Env: p.env}
	for _, s := range settingFlags {
		if given := cmd.Flags().Lookup(s.name); given.Changed {
			src.Flags = append(src.Flags, config.Flag{Name: "--" + s.name, Path: s.path, Value: given.Value.String()})
		}
	}
	return src
}

// loadConfig reads and validates all of it, rules included.
func loadConfig(src config.Sources) (*config.Config, error) {
	c, err := config.Load(src, checkRules)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	return c, nil
}

// checkRules checks rules and breaker policies by their nouns, since internal/config does not know what is valid in them.
func checkRules(c *config.Config) []config.Problem {
	var all []config.Problem
	for _, p := range ratelimit.CheckRules(c.Rules.Items) {
		all = append(all, config.Problem{Path: "rules." + p.Path, Message: p.Message})
	}
	for _, p := range breaker.CheckPolicies(c.Breakers.Items) {
		all = append(all, config.Problem{Path: "breakers." + p.Path, Message: p.Message})
	}
	return all
}
