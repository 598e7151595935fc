package main

import (
	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

// serveFlags are what serve takes from its command line.
type serveFlags struct{ file string }

// settingFlags set single values of the configuration.
var settingFlags = []struct{ name, path, help string }{
	{"socket", "socket.path", "`path` of the socket to serve (default " + config.DefaultSocket + ")"},
	{"redis", "redis.url", "address of Redis, a `url`: redis://[user:password@]host:port[/db] (rediss:// for TLS), unix:///path, " +
		"redis+sentinel://host,host/master, redis+cluster://host,host, or embedded for a development store in this process; " +
		"one with a password is better in COXSWAIN_REDIS_URL"},
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

// sources are the file, the environment and those flags that were given.
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

// checkRules asks coord, which alone knows what a rule and a policy may say.
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
