package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	ratelimitv3common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// ratelimitEnv names a binary of envoyproxy/ratelimit.
const ratelimitEnv = "RATELIMIT_BIN"

const ratelimitRules = `domain: bench
descriptors:
  - key: key
    rate_limit: {unit: second, requests_per_unit: 1000000}
`

// envoyRatelimit measures envoyproxy/ratelimit on the same Redis, called by gRPC: 64 callers on
// as many connections as those of the workload share.
func envoyRatelimit(ctx context.Context, s *side, d time.Duration) (sample, error) {
	binary := os.Getenv(ratelimitEnv)
	if binary == "" {
		return sample{}, notHere("%s names no binary of envoyproxy/ratelimit", ratelimitEnv)
	}
	srv, addr, err := s.lab.startRatelimit(binary)
	if err != nil {
		return sample{}, err
	}
	defer srv.stop()
	var services []ratelimitv3.RateLimitServiceClient
	var conns []*grpc.ClientConn
	defer func() {
		for _, c := range conns {
			_ = c.Close() // no call is under way
		}
	}()
	for range connections {
		// The server may not listen yet.
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
		if err != nil {
			return sample{}, err
		}
		conns = append(conns, conn)
		services = append(services, ratelimitv3.NewRateLimitServiceClient(conn))
	}
	ctx, cancel := context.WithTimeout(ctx, d+30*time.Second)
	defer cancel()
	var turn atomic.Uint32
	ask := func(key string) error {
		r, err := services[turn.Add(1)%connections].ShouldRateLimit(ctx, &ratelimitv3.RateLimitRequest{
			Domain: "bench", HitsAddend: 1,
			Descriptors: []*ratelimitv3common.RateLimitDescriptor{{
				Entries: []*ratelimitv3common.RateLimitDescriptor_Entry{{Key: "key", Value: key}},
			}},
		})
		if err == nil && r.GetOverallCode() != ratelimitv3.RateLimitResponse_OK {
			err = fmt.Errorf("envoyproxy/ratelimit answered %v", r)
		}
		return err
	}
	for range services {
		if err := ask(table(1)[0]); err != nil { // connects, which is not measured
			return sample{}, fmt.Errorf("envoyproxy/ratelimit: %w", err)
		}
	}
	return s.lab.metered(ctx, srv, func() (tally, error) { return closedLoop(64, d, shared(keyCount), ask) })
}

func (l *lab) startRatelimit(binary string) (srv *server, addr string, err error) {
	config := filepath.Join(l.dir, "ratelimit", "config")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(filepath.Join(config, "bench.yaml"), []byte(ratelimitRules), 0o600); err != nil {
		return nil, "", err
	}
	env := []string{
		"RUNTIME_ROOT=" + l.dir, "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_WATCH_ROOT=false",
		"USE_STATSD=false", "DISABLE_STATS=true", "LOG_LEVEL=error", "BACKEND_TYPE=redis", "REDIS_SOCKET_TYPE=tcp", "REDIS_URL=" + l.redisAddr,
		"HOST=127.0.0.1", "GRPC_HOST=127.0.0.1", "DEBUG_HOST=127.0.0.1",
	}
	var port string
	for _, name := range []string{"PORT", "DEBUG_PORT", "GRPC_PORT"} {
		if port, err = freePort(); err != nil {
			return nil, "", err
		}
		env = append(env, name+"="+port)
	}
	c, err := start(env, binary)
	return &server{child: c}, net.JoinHostPort("127.0.0.1", port), err
}
