package main_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/hack/clientgen"
)

func TestTheCommittedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	for path, want := range main.Files() {
		got, err := os.ReadFile("../../" + path)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s: run: go run ./hack/clientgen", path)
	}
}

func TestEveryMethodAndKeyIsInEachClient(t *testing.T) {
	t.Parallel()
	files := main.Files()
	python, typescript := files["clients/python/src/coxswain/_methods.py"], files["clients/node/src/methods.ts"]
	for _, m := range api.Methods() {
		if m.NotifyOnly {
			require.NotContains(t, python, `"`+m.Name+`"`)
			continue
		}
		calls := strings.Count(python, `self._call("`+m.Name+`", params, deadline)`)
		require.Equal(t, 2, calls, "%s: one form returns its result, the other a coroutine", m.Name)
		entry := `"` + m.Name + `": { params: ` + m.Params.Name() + `; result: ` + m.Result.Name() + ` };`
		require.Contains(t, typescript, entry)
		before, _, _ := strings.Cut(python, `self._call("`+m.Name+`"`)
		call := before[strings.LastIndex(before, "    def "):]
		_, shape, _ := strings.Cut(typescript, "export interface "+m.Params.Name()+" {\n")
		shape, _, _ = strings.Cut(shape, "\n}")
		for _, f := range api.Fields(m.Params) {
			require.Contains(t, call, `"`+f.Name+`"`, "%s is not sent by %s", f.Name, m.Name)
			require.Contains(t, shape, "  "+f.Name, "%s of %s", f.Name, m.Name)
		}
	}
	for _, e := range api.Events() {
		require.Contains(t, files["clients/python/src/coxswain/types.py"], `"`+e.Name+`": `+e.Params.Name())
		require.Contains(t, typescript, `"`+e.Name+`": `+e.Params.Name()+`;`)
	}
}

// In a type that is used in params and in results a key is required only if it is required in both.
func TestAKeyMayBeAbsentWhereTheContractSaysSo(t *testing.T) {
	t.Parallel()
	for path, lines := range map[string][]string{
		"clients/python/src/coxswain/types.py":    {"    limit: int\n", "    burst: NotRequired[int]\n", "    held_by: NotRequired[Holder]\n"},
		"clients/node/src/methods.ts":             {"  limit: number;\n", "  burst?: number;\n", "  held_by?: Holder;\n", "  name: string;\n"},
		"clients/python/src/coxswain/_methods.py": {"        name: str,\n", "        ttl_ms: int = 30000,\n", "        rule: str | None = None,\n"},
	} {
		for _, line := range lines {
			require.Contains(t, main.Files()[path], line)
		}
	}
}
