package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// imageTarEnv names a file that docker save wrote.
const imageTarEnv = "COXSWAIN_IMAGE_TAR"

func imageCompressed(ctx context.Context, s *side, _ time.Duration) (sample, error) {
	size, err := s.lab.imageSize(ctx)
	return sample{value: float64(size.compressed) / megabyte}, err
}

func imageUnpacked(ctx context.Context, s *side, _ time.Duration) (sample, error) {
	size, err := s.lab.imageSize(ctx)
	return sample{value: float64(size.unpacked) / megabyte}, err
}

// layers is the size of the layers of an image, in bytes.
type layers struct{ compressed, unpacked int64 }

// imageSize measures the file of imageTarEnv, else the image of a Docker engine.
func (l *lab) imageSize(ctx context.Context) (layers, error) {
	if path := os.Getenv(imageTarEnv); path != "" {
		f, err := os.Open(path) //nolint:gosec // the path is the operator's
		if err != nil {
			return layers{}, fmt.Errorf("%s: %w", imageTarEnv, err)
		}
		defer f.Close()
		return sizeOf(f)
	}
	if l.image == "" {
		return layers{}, notHere("%s names no file, and no image is named", imageTarEnv)
	}
	// This also fails if there is no engine.
	if err := exec.CommandContext(ctx, "docker", "image", "inspect", l.image).Run(); err != nil {
		return layers{}, notHere("%s names no file, and no Docker engine here has the image %s (make image)", imageTarEnv, l.image)
	}
	save := exec.CommandContext(ctx, "docker", "save", l.image)
	out, err := save.StdoutPipe()
	if err != nil {
		return layers{}, err
	}
	if err := save.Start(); err != nil {
		return layers{}, err
	}
	size, err := sizeOf(out)
	return size, errors.Join(err, save.Wait())
}

// sizeOf reads what docker save wrote. Whether its layers are compressed depends on the
// engine; those of a pushed image are compressed by gzip.
func sizeOf(r io.Reader) (layers, error) {
	var manifest []struct{ Layers []string }
	files := map[string]layers{} // a layer may come before the manifest that names it
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return layers{}, fmt.Errorf("read the image: %w", err)
		}
		if h.Name == "manifest.json" {
			if err := json.NewDecoder(t).Decode(&manifest); err != nil {
				return layers{}, fmt.Errorf("read the image: manifest.json: %w", err)
			}
			continue
		}
		if files[h.Name], err = layerOf(t); err != nil {
			return layers{}, fmt.Errorf("read the image: %s: %w", h.Name, err)
		}
	}
	if len(manifest) != 1 {
		return layers{}, fmt.Errorf("read the image: its manifest.json has %d images, not 1", len(manifest))
	}
	var sum layers
	for _, name := range manifest[0].Layers {
		of, ok := files[name]
		if !ok {
			return layers{}, fmt.Errorf("read the image: it has no layer %s", name)
		}
		sum.compressed += of.compressed
		sum.unpacked += of.unpacked
	}
	return sum, nil
}

func layerOf(r io.Reader) (layers, error) {
	var l layers
	in := bufio.NewReader(r)
	magic, _ := in.Peek(2) // a shorter file is not compressed
	if bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		packed := &counter{}
		z, err := gzip.NewReader(io.TeeReader(in, packed))
		if err != nil {
			return l, err
		}
		if l.unpacked, err = io.Copy(io.Discard, z); err != nil { //nolint:gosec // the image is the operator's own
			return l, err
		}
		l.compressed = packed.n
		return l, nil
	}
	packed := &counter{}
	z := gzip.NewWriter(packed)
	n, err := io.Copy(z, in)
	if err != nil {
		return l, err
	}
	err = z.Close()
	return layers{packed.n, n}, err
}

// counter counts what is written to it.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}
