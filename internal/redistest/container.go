package redistest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/wait"
)

// containerStart bounds finding the engine and starting the container.
const containerStart = 60 * time.Second

// startContainer runs a local image; it pulls nothing, so that tests neither
// need a registry nor wait for one.
func startContainer(image string) (b backend, err error) {
	// If /.dockerenv exists, testcontainers assumes that it runs inside a container and
	// would dial the gateway. The image of its reaper would be pulled.
	for name, value := range map[string]string{
		"TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1",
		"TESTCONTAINERS_RYUK_DISABLED": "true",
	} {
		if _, set := os.LookupEnv(name); !set {
			if err := os.Setenv(name, value); err != nil {
				return backend{}, err
			}
		}
	}
	// It panics if it finds no engine at all.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("container: no Docker engine answers (start one, or unset $%s): %v", EnvMode, p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), containerStart)
	defer cancel()
	// Its banner of a dozen lines would hide the line that names the Redis in use.
	quiet := log.New(io.Discard, "", 0)
	tclog.SetDefault(quiet)
	provider, err := testcontainers.NewDockerProvider(testcontainers.Generic2DockerOptions(testcontainers.WithLogger(quiet))...)
	if err != nil {
		return backend{}, fmt.Errorf("container: no Docker engine answers (start one, or unset $%s): %w", EnvMode, err)
	}
	defer func() { _ = provider.Close() }()
	if _, err := provider.Client().ImageInspect(ctx, image); err != nil {
		return backend{}, fmt.Errorf("container: the image %s is not here (build it, or name another by $%s): %w", image, EnvImage, err)
	}
	return runContainer(ctx, image, quiet)
}

func runContainer(ctx context.Context, image string, quiet *log.Logger) (backend, error) {
	c, err := testcontainers.Run(ctx, image,
		testcontainers.WithLogger(quiet),
		testcontainers.WithLabels(map[string]string{"coxswain.test-run": os.Getenv("COXSWAIN_TEST_RUN")}),
		testcontainers.WithCmd("redis-server", "--save", "", "--appendonly", "no"),
		testcontainers.WithExposedPorts("6379/tcp"),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{
				network.MustParsePort("6379/tcp"): {{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1}), HostPort: "0"}},
			}
		}),
		testcontainers.WithWaitStrategy(wait.ForLog("Ready to accept connections")),
	)
	stop := func() error { return testcontainers.TerminateContainer(c) }
	if err != nil {
		return backend{}, fmt.Errorf("container: %s: %w", image, errors.Join(err, stop()))
	}
	url, err := c.PortEndpoint(ctx, "6379/tcp", "redis")
	if err == nil {
		err = answers(ctx, url)
	}
	if err != nil {
		return backend{}, fmt.Errorf("container: %s: %w", image, errors.Join(err, stop()))
	}
	return backend{url: url, what: "a container of " + image + " at " + url, stop: stop}, nil
}
