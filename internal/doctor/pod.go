package doctor

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/config"
)

const (
	memoryID = "container-memory"
	cpuID    = "container-cpu"
	mountsID = "pod-mounts"
	policyID = "pod-policy"
)

// inPod reports whether this process runs in a pod.
func (e *examination) inPod() bool { return e.env("KUBERNETES_SERVICE_HOST") != "" }

const (
	// tight is the fraction of a memory limit above which the usage is a warning.
	tight = 0.9
	// often is the fraction of throttled CPU periods above which the container is short of CPU.
	often = 0.25
)

func (e *examination) memory(context.Context) (string, error) {
	limit, used := e.o.Group.Memory()
	if limit == 0 {
		if e.inPod() {
			return "no limit", warning(memoryID, "the container has no memory limit, so that the sidecar's own bounds are those of a process without one",
				"set resources.limits.memory of the sidecar, from 64Mi up")
		}
		return "no limit", nil
	}
	found := fmt.Sprintf("%s of %s in use", mebibytes(used), mebibytes(limit))
	if bytes := e.config.Limits.MaxTotalBytes; bytes > limit {
		return found, failure(memoryID, fmt.Sprintf("limits.max_total_bytes (%s) is more than the container's memory limit", mebibytes(bytes)),
			"lower limits.max_total_bytes to a fifth of the memory limit, or remove it: it then follows the limit")
	}
	if float64(used) > tight*float64(limit) {
		return found, warning(memoryID, "the container has used nearly all of its memory; the kernel ends what goes over the limit",
			"raise resources.limits.memory of the sidecar, or lower limits.max_total_bytes and limits.max_total_waiting")
	}
	return found, nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func (e *examination) cpu(context.Context) (string, error) {
	limit := e.o.Group.CPU()
	if math.IsInf(limit, 1) {
		return "no limit", nil
	}
	throttled := e.o.Group.Throttled()
	found := strconv.FormatFloat(limit, 'g', 3, 64) + " CPU"
	if throttled > 0 {
		found += fmt.Sprintf(", throttled in %.0f %% of its periods", 100*throttled)
	}
	if throttled > often {
		return found, warning(cpuID, "the container is often kept from running, since it has used up its CPU limit; calls and renewals are late then",
			"raise or remove resources.limits.cpu of the sidecar")
	}
	return found, nil
}

// mount is the mount point of a file system, and its type.
type mount struct{ point, kind string }

// mountOf finds the mount of a path in the kernel's table of mounts.
func (e *examination) mountOf(path string) (mount, error) {
	text, err := os.ReadFile(filepath.Join(e.o.Proc, "self", "mountinfo"))
	if err != nil {
		return mount{}, err
	}
	var best mount
	for line := range strings.Lines(string(text)) {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
		before, after, ok := strings.Cut(line, " - ")
		f, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(kind) == 0 {
			continue
		}
		point := unescaped(f[4])
		inside := point == "/" || path == point || strings.HasPrefix(path, point+"/")
		if inside && len(point) >= len(best.point) { // of several mounts at one point the last hides the others
			best = mount{point, kind[0]}
		}
	}
	return best, nil
}

// unescaped decodes a path of the table, in which a space, for example, is written as \040.
func unescaped(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

func (e *examination) mounts(context.Context) (string, error) {
	path := e.config.Socket.Path
	if apps := e.env(config.EnvSocket); apps != "" && apps != path {
		return "", failure(mountsID, fmt.Sprintf("apps look for the socket at %s (%s), and the sidecar serves %s", apps, config.EnvSocket, path),
			"remove --socket, or give apps the same path in "+config.EnvSocket)
	}
	folder := filepath.Dir(path)
	m, err := e.mountOf(folder)
	if err != nil {
		return "", unknown("the table of mounts cannot be read: " + err.Error())
	}
	const fix = "mount an emptyDir with medium: Memory there, in the sidecar and in each container of the app; the chart's volume is called coxswain"
	switch {
	case m.point == "/" || m.point == "":
		return "", failure(mountsID, "the socket's folder "+folder+" is in the container's own file system, which no other container sees", fix)
	case m.kind != "tmpfs":
		return folder + " is on " + m.kind, warning(mountsID,
			"the socket's folder is a volume that is not in memory: it outlives the pod's containers, or is on a disk", fix)
	default:
		return folder + " is a volume in memory", nil
	}
}

// The label that the chart's policy looks for, and the annotation that it adds.
const (
	labelInject = "coxswain.dev/inject"
	injectedBy  = "coxswain.dev/injected-by"
)

// policy compares the pod's labels and annotations with the running sidecar, if the downward API shows them.
func (e *examination) policy(context.Context) (string, error) {
	marks := e.podinfo("annotations")
	by := marks[injectedBy]
	if v := e.env("POD_INJECTED_BY"); v != "" {
		by = v
	}
	label, labelled := e.podinfo("labels")[labelInject]
	if marks == nil && !labelled && by == "" {
		return "", unknown("the pod's annotations are not to be seen here; docs/doctor.md says how to show them")
	}
	if by == "" && label == "true" {
		return "", warning(policyID, "the pod has the label "+labelInject+", and no policy has injected its sidecar",
			"see whether the policy and its binding are there, and whether the pod was made before them; then restart it")
	}
	for _, a := range []struct{ name, is, none string }{
		{"coxswain.dev/log-level", e.config.Telemetry.LogLevel, ""},
		{"coxswain.dev/readiness", e.config.Readiness.Mode, "none"}, // none = the pod has no readiness probe; the sidecar has no such mode
	} {
		if said := marks[a.name]; said != "" && said != a.is && said != a.none {
			return "", warning(policyID, fmt.Sprintf("the annotation %s is %s, and the sidecar has %s: it was changed after the pod was made", a.name, said, a.is),
				"restart the pod: annotations take effect when it is made")
		}
	}
	if by == "" {
		return "not injected: the sidecar is the pod's own", nil
	}
	return "injected by " + by, nil
}

// podinfo reads a file of a downward API volume, which has lines of name="value"; nil if there is no such file.
func (e *examination) podinfo(file string) map[string]string {
	text, err := os.ReadFile(filepath.Join(e.o.Podinfo, file))
	if err != nil {
		return nil
	}
	m := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, quoted, _ := strings.Cut(strings.TrimSpace(line), "=")
		if value, err := strconv.Unquote(quoted); err == nil {
			m[name] = value
		}
	}
	return m
}
