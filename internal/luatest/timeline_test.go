package luatest_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

func TestEveryScriptHasTimelinesAndNothingElseHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string
		want  string // the error
	}{
		"as it should be":      {[]string{"a_get.lua", "part_a.lua", "a.go", "testdata/a_get/get.txt"}, ""},
		"none of a script":     {[]string{"a_get.lua", "a_put.lua", "testdata/a_get/get.txt"}, "no fixture in testdata/a_put"},
		"an empty folder":      {[]string{"a_get.lua", "testdata/a_get/get.md"}, "no fixture in testdata/a_get"},
		"some of no script":    {[]string{"a_get.lua", "testdata/a_get/get.txt", "testdata/a_put/put.txt"}, "testdata/a_put is of no script"},
		"some of a part":       {[]string{"a_get.lua", "part_a.lua", "testdata/a_get/get.txt", "testdata/part_a/a.txt"}, "testdata/part_a is of no script"},
		"a folder without any": {[]string{"a.go"}, "no script is here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{}
			for _, f := range c.files {
				tree[f] = &fstest.MapFile{}
			}
			files, err := luatest.TimelinesOf(tree)
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, []string{"testdata/a_get/get.txt"}, files)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}
