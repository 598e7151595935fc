package kubetest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
	"github.com/coxswain-sidecar/coxswain/internal/kubetest"
)

// A Job of two programs with different uids, one of them Python, in a namespace that
// enforces Pod Security "restricted": both use the socket, the Job completes, and the
// sidecar, which read its memory limit from the cgroup, exits with 0.
func TestNodeJobCompletes(t *testing.T) {
	t.Parallel()
	f := crawlers(t)
	f.kubectl("label", "namespace", f.ns, "pod-security.kubernetes.io/enforce=restricted")
	f.apply("job.yaml")
	f.kubectl("wait", "--for=condition=complete", "job/crawl", "--timeout=3m")
	require.Contains(t, f.kubectl("logs", "job/crawl", "--container=python"), "all calls answered, uid 10002")
	require.Contains(t, f.kubectl("logs", "job/crawl", "--container=go"), "e2e")

	// The Job counts the app's containers; the sidecar ends after them.
	var sidecar kubetest.Object
	kubetest.Poll(t, "the sidecar has ended", func() error {
		for _, pod := range f.pods("job-name=crawl") {
			sidecar = kubetest.Called(pod.At("status")["initContainerStatuses"], "coxswain")
		}
		if sidecar.At("state", "terminated") == nil {
			return fmt.Errorf("its state is %v", sidecar["state"])
		}
		return nil
	})
	require.InDelta(t, 0, sidecar.At("state", "terminated")["exitCode"], 0)
	require.InDelta(t, 0, sidecar["restartCount"], 0)
	log := f.kubectl("logs", "job/crawl", "--container=coxswain")
	kept := regexp.MustCompile(`"memory_limit_from":"cgroup","memory_limit_bytes":(\d+)`).FindStringSubmatch(log)
	require.NotNil(t, kept, log)
	n, err := strconv.Atoi(kept[1])
	require.NoError(t, err)
	require.InDelta(t, 90<<20, n, 1, "nine tenths of the pod's 100Mi")
}

// The kubelet starts a pod's program when the sidecar's socket is open, so its first call
// works. The test logs the time from the pod's creation, with and without a sidecar, for
// comparison by people.
func TestNodeTheFirstCallOfAPodWorks(t *testing.T) {
	t.Parallel()
	f := crawlers(t)
	for round := range 3 {
		for _, pod := range []struct{ name, inject, says string }{
			{"with", "true", "the first call works"}, {"without", "false", "the first call fails"},
		} {
			name := fmt.Sprint(pod.name, round)
			created := time.Now()
			f.apply("crawler.yaml", "NAME", name, "MODE", "always", "SCRIPT", "first.py", `inject: "true"`, `inject: "`+pod.inject+`"`)
			f.says(name, "python", pod.says)
			line := f.kubectl("logs", name, "--container=python", "--timestamps")
			stamp, _, _ := strings.Cut(line, " ")
			called, err := time.Parse(time.RFC3339Nano, stamp)
			require.NoError(t, err, line)
			t.Logf("%s a sidecar, round %d: %v", pod.name, round, called.Sub(created).Round(time.Millisecond))
		}
	}
}

// Redis is stopped and started again: meanwhile pods with readiness mode redis are not
// ready, others stay ready, and no container is restarted.
func TestNodeRedisGoesAway(t *testing.T) {
	t.Parallel()
	f := crawlers(t)
	for _, mode := range []string{"redis", "always"} {
		f.crawler(mode, mode, "calls.py")
		f.says(mode, "python", "connection 1 works")
	}
	f.kubectl("scale", "deployment/redis", "--replicas=0")
	f.ready("redis", false)
	kubetest.Poll(t, "the other is degraded", func() error {
		out, err := f.call("always", "health.get", "{}")
		if err == nil && !strings.Contains(out, `"degraded":true`) {
			err = errors.New(out)
		}
		return err
	})
	require.True(t, isReady(kubetest.Get(t, "pod", "always", "--namespace", f.ns)))
	_, err := f.call("always", "lock.acquire", `{"name":"l"}`)
	require.ErrorContains(t, err, "UNAVAILABLE")

	f.kubectl("scale", "deployment/redis", "--replicas=1")
	f.ready("redis", true)
	for _, mode := range []string{"redis", "always"} {
		kubetest.Poll(t, mode+" takes locks again", func() error {
			_, err := f.call(mode, "lock.acquire", `{"name":"of `+mode+`"}`)
			return err
		})
		f.ready(mode, true)
		require.Equal(t, map[string]int{"coxswain": 0, "python": 0}, f.restarts(mode))
	}
}

// Pods are deleted while they work; one ends on SIGTERM and one works until it is killed. As
// soon as they are gone, others process their entries, although the leases last an hour, and
// their locks are free, although the TTLs last an hour.
func TestNodeDeletedPodsGiveBack(t *testing.T) {
	t.Parallel()
	f := crawlers(t)
	f.crawler("producer", "redis", "produce.py")
	manners := []string{"polite", "stubborn"}
	for _, manner := range manners {
		f.apply("workers.yaml", "MANNER", manner)
	}
	// Twice, each time when the pods are working.
	for range 2 {
		victims := map[string]string{}
		for _, manner := range manners {
			f.kubectl("rollout", "status", "deployment/"+manner, "--timeout=3m")
			pods := f.pods("app=" + manner)
			require.Len(t, pods, 1)
			victims[manner], _ = pods[0].At("metadata")["name"].(string)
			f.says(victims[manner], "python", "acknowledged")
			require.Contains(t, f.lock(victims[manner]), `"acquired":false`, "it is held while the pod lives")
		}
		f.kubectl("delete", "pod", victims["polite"], victims["stubborn"], "--timeout=3m")
		for manner, name := range victims {
			require.Contains(t, f.lock(name), `"acquired":true`, "the lock of a %s pod that is gone", manner)
		}
	}
	_, err := f.call("producer", "queue.enqueue", `{"queue":"stop","id":"now"}`)
	require.NoError(t, err)
	f.says("producer", "python", "dealt with")
	t.Log(f.kubectl("logs", "producer", "--container=python", "--tail=1"))
}

// lock tries to take the lock of a pod.
func (f fleet) lock(pod string) string {
	f.t.Helper()
	out, err := f.call("producer", "lock.acquire", `{"name":"of `+pod+`"}`)
	require.NoError(f.t, err)
	return out
}

// A running pod: its rules change with the ConfigMap, its sidecar is restarted when
// it is killed, and the chart's own test passes meanwhile.
func TestNodeLifeOfASidecar(t *testing.T) {
	t.Parallel()
	f := crawlers(t)
	f.crawler("crawler", "redis", "calls.py")
	f.says("crawler", "python", "connection 1 works")
	t.Run("helm test", func(t *testing.T) {
		f.in(t).release.Helm(t, "test", f.release.Name, "--timeout=3m", "--logs=false")
	})
	t.Run("the status page", func(t *testing.T) { statusPage(f.in(t)) })
	t.Run("rules are changed", func(t *testing.T) { changeRules(f.in(t)) })
	t.Run("the sidecar is killed", func(t *testing.T) { killSidecar(f.in(t)) })
}

// statusPage opens the page as an operator does, through a forwarded port.
func statusPage(f fleet) {
	at := kubetest.Forward(f.t, f.ns, "crawler", 8087)
	for path, says := range map[string]string{"/": "<title>", "/status.json": `"crawler`, "/config.yaml": "redis:"} {
		req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://"+at+path, http.NoBody)
		require.NoError(f.t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(f.t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(f.t, err)
		require.NoError(f.t, res.Body.Close())
		require.Equal(f.t, http.StatusOK, res.StatusCode, "%s: %s", path, body)
		require.Contains(f.t, string(body), says, path)
	}
}

func changeRules(f fleet) {
	for _, limit := range []string{"7", "11"} {
		f.release.Helm(f.t, "upgrade", f.release.Name, helmtest.Chart(), "--reuse-values", "--set", "config.rules.items[0].name=site",
			"--set", "config.rules.items[0].algorithm=token_bucket", "--set", "config.rules.items[0].limits[0].limit="+limit,
			"--set", "config.rules.items[0].limits[0].period_ms=1000")
		// The kubelet syncs mounts each minute, more often on the test's node.
		kubetest.Poll(f.t, "the rule of "+limit+" is in force", func() error {
			out, err := f.call("crawler", "ratelimit.acquire", `{"rule":"site","key":"`+limit+`"}`)
			if err == nil && !strings.Contains(out, `"limit":`+limit) {
				err = errors.New(out)
			}
			return err
		})
	}
	require.Equal(f.t, map[string]int{"coxswain": 0, "python": 0}, f.restarts("crawler"))
}

func killSidecar(f fleet) {
	before := kubetest.Get(f.t, "pod", "crawler", "--namespace", f.ns)
	id, _ := kubetest.Called(before.At("status")["initContainerStatuses"], "coxswain")["containerID"].(string)
	pid, err := process(strings.TrimPrefix(id, "containerd://"))
	require.NoError(f.t, err)
	require.NoError(f.t, syscall.Kill(pid, syscall.SIGKILL))
	f.says("crawler", "python", "connection 2 works")
	// The client may have reconnected before the kubelet has reported the restart.
	kubetest.Poll(f.t, "the sidecar alone restarts", func() error {
		if now := f.restarts("crawler"); !maps.Equal(now, map[string]int{"coxswain": 1, "python": 0}) {
			return fmt.Errorf("restarts: %v", now)
		}
		return nil
	})
	f.ready("crawler", true)
}

// process returns the process id of a container on this machine, the node.
func process(container string) (int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil || container == "" {
		return 0, fmt.Errorf("no container, or no processes: %w", err)
	}
	for _, file := range files {
		cgroups, err := os.ReadFile(file)
		if err == nil && bytes.Contains(cgroups, []byte(container)) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("no process is in container %s", container)
}
