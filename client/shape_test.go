package client_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// anyOf fills a struct at random, and leaves about half of it empty.
func anyOf(r *rand.Rand, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if r.IntN(2) == 0 {
			continue
		}
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int64:
			f.SetInt(r.Int64() >> r.IntN(63) * (r.Int64N(3) - 1))
		case reflect.String:
			f.SetString(strings.Repeat("é", r.IntN(20)*r.IntN(20)))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), r.IntN(2), 2))
		default:
		}
	}
}

func byLibrary(t testing.TB, v any) []byte {
	t.Helper()
	var b []byte
	require.NoError(t, codec.NewEncoderBytes(&b, testHandle()).Encode(v))
	return b
}

// eachType runs a test for the params and results of all methods.
func eachType(t *testing.T, test func(t *testing.T, of reflect.Type)) {
	for _, m := range api.Methods() {
		for _, of := range []reflect.Type{m.Params, m.Result} {
			t.Run(of.Name(), func(t *testing.T) { test(t, of) })
		}
	}
}

// The encoder and the decoder for plain structs write and read the same bytes as the library.
func TestPlainStructsAreEncodedAsByTheLibrary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	written, read := 0, 0
	eachType(t, func(t *testing.T, of reflect.Type) {
		for range 50 {
			v := reflect.New(of)
			anyOf(r, v.Elem())
			b := byLibrary(t, v.Interface())
			if plain, ok := client.WritePlain(v.Interface()); ok {
				require.Equal(t, b, plain, "%+v", v.Elem())
				written++
			}
			got, want := reflect.New(of), reflect.New(of)
			require.NoError(t, client.ReadByLibrary(b, want.Interface()))
			if client.ReadPlain(b, got.Interface()) {
				require.Equal(t, want.Interface(), got.Interface())
				read++
			}
		}
	})
	require.Greater(t, written, 1000)
	require.Greater(t, read, 1000)
}

// Whatever a sidecar of another version sends, it is refused or read as the library does.
func TestUnusualResultsAreReadAsByTheLibrary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	odd := []any{
		nil, true, -1, -200, -40000, int64(-1) << 40, uint64(1) << 63, 0.5, float32(2), "", "text", []byte("bin"),
		[]any{1, "x"},
		map[string]any{"limit": 1, "client": "c"},
	}
	eachType(t, func(t *testing.T, of reflect.Type) {
		for range 100 {
			m := map[string]any{"unknown": odd[r.IntN(len(odd))]}
			for i := range of.NumField() {
				name, _, _ := strings.Cut(of.Field(i).Tag.Get("codec"), ",")
				if r.IntN(3) == 0 {
					m[name] = odd[r.IntN(len(odd))]
				}
			}
			b := byLibrary(t, m)
			if r.IntN(10) == 0 {
				b = b[:r.IntN(len(b))]
			}
			got, want := reflect.New(of), reflect.New(of)
			if client.ReadPlain(b, got.Interface()) {
				require.NoError(t, client.ReadByLibrary(b, want.Interface()), "%v", m)
				require.Equal(t, want.Interface(), got.Interface(), "%v", m)
			}
		}
	})
}

// Texts that come again are the same text, and others are not mixed up with them.
func TestTextsThatComeAgainAreThemselves(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		text := make([]byte, 3) // more texts than can be kept
		for i := range text {
			text[i] = byte('a' + r.IntN(11))
		}
		want := api.LockReleaseResult{Reason: string(text)}
		var got api.LockReleaseResult
		require.True(t, client.ReadPlain(byLibrary(t, want), &got))
		require.Equal(t, want, got)
	}
}
