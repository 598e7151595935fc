package config

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// load is Load with the bytes of a file in place of the file.
func load(b []byte) (*Config, error) {
	c := Default()
	s, err := parse("c.yaml", b, &c)
	if err != nil {
		return nil, err
	}
	return finish(&c, s, nil, Sources{Opened: func(string, fs.FileInfo) {}}, nil)
}

// CheckParse is the body of FuzzLoad.
func CheckParse(t *testing.T, b []byte) {
	t.Helper()
	c, err := load(b)
	if err != nil {
		if strings.TrimSpace(err.Error()) == "" {
			t.Fatal("an error without words")
		}
		return
	}
	if slices.ContainsFunc(settings(c), func(s setting) bool {
		return strings.Contains(s.v.String(), "://") && strings.Contains(s.v.String(), "@")
	}) {
		return // Print would mask it
	}
	var out bytes.Buffer
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	again, err := load(out.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	var twice bytes.Buffer
	if err := again.Print(&twice); err != nil {
		t.Fatal(err)
	}
	if settled(out.String()) != settled(twice.String()) {
		t.Fatalf("%s\n%s", &out, &twice)
	}
}

// settled removes the comments of Print, since where a value was set differs.
func settled(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i], _, _ = strings.Cut(l, " # COXSWAIN_")
	}
	return strings.Join(lines, "\n")
}

// ReadOnly reads the bytes of a file and validates nothing.
func ReadOnly(t *testing.T, b []byte) Config {
	t.Helper()
	c := Default()
	s, err := parse("c.yaml", b, &c)
	if err != nil || len(s.problems) > 0 {
		t.Fatal(err, s.problems)
	}
	return c
}
