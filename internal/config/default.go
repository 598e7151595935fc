package config

import "time"

// DefaultSocket is the path of the socket for the sidecar and its clients, if none is set.
const DefaultSocket = "/run/coxswain/sidecar.sock"

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		Socket: Socket{
			Path: DefaultSocket, Mode: "0660", UID: -1, GID: -1,
			Admin:        Admin{Enabled: true},
			WriteTimeout: 5 * time.Second,
		},
		HTTP: HTTP{Addr: ":8086"},
		Redis: Redis{
			URL: "redis://127.0.0.1:6379", Prefix: "coxswain",
			Pool: Pool{MinIdle: 10, Max: 50, DialTimeout: 5 * time.Second, CommandTimeout: 3 * time.Second},
		},
		Limits: Limits{
			MaxFrameBytes: 1 << 20, MaxDepth: 16, MaxElements: 65_536,
			MaxInflight: 1_024, MaxWaiting: 4_096, MaxConnections: 256,
			ShutdownGrace: 2 * time.Second,
		},
		Runtime:   Runtime{Procs: ProcsAuto},
		Telemetry: Telemetry{LogLevel: "info", LogFormat: "auto"},
		Readiness: Readiness{Mode: ReadinessRedis},
		Rules:     Rules{Precedence: PrecedenceFile},
	}
}
