package helmtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
)

// paths returns the sections and leaves of values.yaml, each in the form of helm's --set.
func paths(t *testing.T) []string {
	t.Helper()
	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "values.yaml")), &values))
	var all []string
	var walk func(at string, v map[string]any)
	walk = func(at string, v map[string]any) {
		for key, x := range v {
			path := at + strings.ReplaceAll(key, ".", `\.`)
			all = append(all, path)
			if m, ok := x.(map[string]any); ok {
				walk(path+".", m)
			}
		}
	}
	walk("", values)
	slices.Sort(all)
	require.Greater(t, len(all), 50)
	return all
}

// A null, such as a section whose keys are all commented out, removes the default.
// The chart refuses it and names the value, or uses its own default.
func TestNoValueIsNull(t *testing.T) {
	t.Parallel()
	dependent := helmtest.Dependent(t, "crawler")
	for _, path := range paths(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			_, name, _ := strings.Cut("."+path, path[:strings.LastIndex("."+path, ".")])
			name = strings.ReplaceAll(strings.TrimLeft(name, "."), `\`, "")
			for _, args := range [][]string{
				{helmtest.Chart(), "--set", path + "=null"},
				{dependent, "--set", "sidecar." + path + "=null"},
			} {
				out, err := helmtest.Helm(t, append([]string{"template", "demo", "--kube-version", "1.37.2"}, args...)...)
				if err != nil {
					require.Regexp(t, fmt.Sprintf(`missing property '%[1]s'|%[1]s': got null, want|config\.redis\.url: missing`, regexp.QuoteMeta(name)), out)
					continue
				}
				require.NotContains(t, out, "no value")
				require.NotRegexp(t, `(?m)[:-] *(null|"")?$\n?\z`, out)
				require.Regexp(t, `^(config|env|commonLabels|tests\.nodeSelector|dashboard\.labels)`, path, "only a map of the user's own may be emptied")
			}
		})
	}
}

// lookalikes are strings that YAML 1.1 reads as something else.
var lookalikes = []string{"123", "1e3", "012", "0x1f", "1_000", "1.50", "190:20:30", "2001-01-01", ".inf", "True", "yes", "Off", "no", "null", "NULL", "Null", "y"}

// bare matches a text outside quotes, where YAML would not read it as a string.
func bare(text string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)(^|[\s,{]|\s\[)` + regexp.QuoteMeta(text) + `(:?[ \t]*$|:[ \t]|[ \t]*[,\]}#])`)
}

// outside returns a text without its block scalars, which are strings whatever
// they contain.
func outside(text string) string {
	var b strings.Builder
	block := -1
	for line := range strings.Lines(text) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if block >= 0 && (indent > block || strings.TrimSpace(line) == "") {
			continue
		}
		block = -1
		if strings.HasSuffix(strings.TrimSpace(line), "|") || strings.HasSuffix(strings.TrimSpace(line), "|-") {
			block = indent
		}
		b.WriteString(line)
	}
	return b.String()
}

// Every string is rendered as a string, wherever it is used.
func TestStringsThatLookLikeOtherTypesStayStrings(t *testing.T) {
	t.Parallel()
	for _, text := range lookalikes {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			quoted := fmt.Sprintf("%q", text)
			values := `
commonLabels: {mine: T, T: mine}
config:
  redis: {url: "redis://redis:6379", username: T, prefix: T, tenant: T}
  rules: {items: [{name: T, algorithm: token_bucket, limits: [{limit: 1, period_ms: 1000}], allow: [{exact: T}]}]}
env: {A: T}
podMonitor: {enabled: true, labels: {mine: T}}
prometheusRule: {enabled: true, labels: {mine: T}}
dashboard: {enabled: true, labels: {mine: T}}
networkPolicy: {enabled: true, from: [{podSelector: {matchLabels: {mine: T}}}]}
redis: {passwordSecret: {name: pw, key: K}}
extraVolumes: [{name: ca, secret: {secretName: ca, items: [{key: T, path: T}]}}]
extraVolumeMounts: [{name: ca, mountPath: /ca, subPath: T}]
tests: {tolerations: [{key: T, operator: Exists}], nodeSelector: {mine: T}}
securityContext: {seLinuxOptions: {level: T}}
`
			name := "demo"
			if regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(text) {
				name = text
				values += "injection: {namespaces: [T]}\nexistingConfig: T\n"
				values = strings.Replace(values, "name: pw", "name: T", 1)
				values = strings.Replace(values, "[{name: ca, secret", "[{name: T, secret", 1)
				values += "image: {repository: T, tag: T}\n"
			}
			key := `"key"`
			if regexp.MustCompile(`^[-._a-zA-Z0-9]+$`).MatchString(text) {
				key = quoted
			}
			if regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(text) {
				values = strings.Replace(values, "env: {A: T}", "env: {T: T}", 1)
			}
			values = strings.ReplaceAll(regexp.MustCompile(`\bT\b`).ReplaceAllString(values, strings.ReplaceAll(quoted, "$", "$$")), "key: K", "key: "+key)
			file := filepath.Join(t.TempDir(), "values.yaml")
			require.NoError(t, os.WriteFile(file, []byte(values), 0o600))
			dependent := filepath.Join(t.TempDir(), "values.yaml")
			require.NoError(t, os.WriteFile(dependent, []byte("sidecar:"+strings.ReplaceAll(values, "\n", "\n  ")+"\n"), 0o600))
			for _, args := range [][]string{
				{name, helmtest.Chart(), "--values", file},
				{name, helmtest.Dependent(t, "crawler"), "--values", dependent},
			} {
				out := render(t, append(args, "--namespace", name, "--kube-version", "1.37.2", "--api-versions", monitoringAPI)...)
				require.Contains(t, out, text)
				require.NotRegexp(t, bare(text), outside(out))
				config := regexp.MustCompile(`(?s)sidecar\.yaml: \|.*?\n---`).FindString(out)
				require.NotRegexp(t, bare(text), config)
			}
		})
	}
}

// Two aliases of one chart are two sidecars of one release.
func TestTwoAliasesOfTheChartHaveDifferentNames(t *testing.T) {
	t.Parallel()
	dir := helmtest.Dependent(t, "crawler")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(`apiVersion: v2
name: crawler
version: 1.0.0
dependencies:
  - {name: sidecar, version: 0.1.0, alias: fetch}
  - {name: sidecar, version: 0.1.0, alias: parse}
`), 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "templates", "deployment.yaml")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "templates", "pods.yaml"), []byte(`{{- range list "fetch" "parse" }}
---
apiVersion: v1
kind: Pod
metadata:
  name: {{ . }}
spec:
  initContainers: {{- include "coxswain.container" (index $.Subcharts .) | nindent 4 }}
  volumes: {{- include "coxswain.volumes" (index $.Subcharts .) | nindent 4 }}
{{- end }}
`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "values.yaml"), []byte("fetch: {readiness: {mode: always}}\nparse: {}\n"), 0o600))
	objects := helmtest.Template(t, dir, "--set", "fetch.dashboard.enabled=true,parse.dashboard.enabled=true,fetch.networkPolicy.enabled=true,parse.networkPolicy.enabled=true")
	seen := map[string]bool{}
	for _, o := range objects {
		id := o.Kind() + " " + o.Namespace() + "/" + o.Name()
		require.False(t, seen[id], "%s is there twice", id)
		seen[id] = true
	}
	require.Greater(t, len(seen), 10)
	for name, mode := range map[string]any{"fetch": "always", "parse": nil} {
		var pod helmtest.Object
		for _, o := range objects {
			if o.Kind() == "Pod" && o.Name() == name {
				pod = o
			}
		}
		text, err := yaml.Marshal(pod)
		require.NoError(t, err)
		require.Contains(t, string(text), "name: demo-"+name+"-config")
		require.Equal(t, mode != nil, strings.Contains(string(text), "COXSWAIN_READINESS_MODE"))
	}
	chart, err := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "crawler")
	require.NoError(t, os.CopyFS(bad, os.DirFS(dir)))
	require.NoError(t, os.WriteFile(filepath.Join(bad, "Chart.yaml"), []byte(strings.ReplaceAll(string(chart), "alias: fetch", "alias: Fetch_it")), 0o600))
	out, err := helmtest.Helm(t, "template", "demo", bad, "--kube-version", "1.37.2")
	require.Error(t, err)
	require.Contains(t, out, "fullnameOverride: objects cannot be named demo-Fetch_it")
	objects = helmtest.Template(t, dir, "--set", "fetch.fullnameOverride=boat,parse.fullnameOverride=oar")
	helmtest.One(t, objects, "MutatingAdmissionPolicy", "crawlers.boat")
	helmtest.One(t, objects, "ConfigMap", "oar-config")
}

// Namespaces by their label: the chart creates no ConfigMap, and the PodMonitor selects
// all namespaces.
func TestNamespacesByLabel(t *testing.T) {
	t.Parallel()
	objects := helmtest.Template(t, helmtest.Chart(), "--set", "injection.namespaceSelector.matchLabels.team=crawl,existingConfig=mine,podMonitor.enabled=true",
		"--api-versions", monitoringAPI)
	for _, kind := range []string{"MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding"} {
		require.Equal(t, helmtest.Object{"matchLabels": map[string]any{"team": "crawl"}},
			helmtest.One(t, objects, kind, "").At("spec", "matchResources", "namespaceSelector"))
	}
	require.Zero(t, kinds(objects)["ConfigMap"])
	require.Equal(t, helmtest.Object{"any": true}, helmtest.One(t, objects, "PodMonitor", "").At("spec", "namespaceSelector"))
}

// With Ignore the chart's policies refuse no pod.
func TestWithIgnoreTheValidationWarns(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][]any{"Fail": {"Deny"}, "Ignore": {"Warn", "Audit"}} {
		objects := helmtest.Template(t, helmtest.Chart(), "--set", "injection.failurePolicy="+policy)
		require.Equal(t, want, helmtest.One(t, objects, "ValidatingAdmissionPolicyBinding", "").At("spec")["validationActions"])
	}
}

// A platform that assigns uids refuses a fixed one.
func TestThePlatformMayAssignTheUser(t *testing.T) {
	t.Parallel()
	objects := helmtest.Template(t, helmtest.Chart(), "--set", "user.uid=0,user.gid=0")
	pod := helmtest.One(t, objects, "Pod", "-test")
	all, _ := pod.At("spec")["initContainers"].([]any)
	sidecar, _ := all[0].(map[string]any)
	own := helmtest.Object(sidecar).At("securityContext")
	require.Equal(t, true, own["runAsNonRoot"])
	for _, context := range []helmtest.Object{own, pod.At("spec", "securityContext")} {
		for _, key := range []string{"runAsUser", "runAsGroup", "supplementalGroups"} {
			require.NotContains(t, context, key)
		}
	}
	text, err := yaml.Marshal(helmtest.One(t, objects, "MutatingAdmissionPolicy", ""))
	require.NoError(t, err)
	require.NotContains(t, string(text), "supplementalGroups")
	require.NotContains(t, string(text), "runAsUser")

	// A number of ten digits is written as one.
	objects = helmtest.Template(t, helmtest.Chart(), "--set", "user.uid=1000680000,user.gid=1000680001")
	text, err = yaml.Marshal(helmtest.One(t, objects, "MutatingAdmissionPolicy", ""))
	require.NoError(t, err)
	require.Contains(t, string(text), "runAsUser: 1000680000")
	require.Contains(t, string(text), `value: 1000680001}`)
}
