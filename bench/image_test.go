package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"
)

// saved returns the archive that docker save would write for an image with those layers.
func saved(t *testing.T, files map[string][]byte) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"a.tar", "b.tar.gz", "other", "manifest.json"} {
		content, ok := files[name]
		if !ok {
			continue
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAnImageHasTheSizeOfItsLayersPackedOrNot(t *testing.T) {
	t.Parallel()
	plain, other := bytes.Repeat([]byte("layer "), 1000), bytes.Repeat([]byte("another "), 500)
	packed := gzipped(t, other)
	got, err := sizeOf(saved(t, map[string][]byte{
		"a.tar": plain, "b.tar.gz": packed, "other": []byte("no layer"), "manifest.json": []byte(`[{"Layers":["a.tar","b.tar.gz"]}]`),
	}))
	want := layers{compressed: int64(len(gzipped(t, plain)) + len(packed)), unpacked: int64(len(plain) + len(other))}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for why, files := range map[string]map[string][]byte{
		"read the image: its manifest.json has 0 images, not 1": {"a.tar": plain},
		"read the image: it has no layer b.tar.gz":              {"manifest.json": []byte(`[{"Layers":["b.tar.gz"]}]`)},
	} {
		if _, err := sizeOf(saved(t, files)); err == nil || err.Error() != why {
			t.Errorf("got %v, want %s", err, why)
		}
	}
}
