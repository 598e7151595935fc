package rpc_test

import (
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

func TestIntegersAreSentInTheirSmallestForm(t *testing.T) {
	t.Parallel()
	type result struct {
		N int64 `codec:"n"`
	}
	for n, want := range map[int64]string{
		0: "00", 127: "7f", 128: "cc80", 255: "ccff", 256: "cd0100", 65535: "cdffff", 65536: "ce00010000",
		math.MaxUint32: "ceffffffff", math.MaxUint32 + 1: "cf0000000100000000",
		api.MaxInt: "cf0020000000000000", api.MaxInt + 1: "cf0020000000000000", math.MaxInt64: "cf0020000000000000",
		-1: "ff", -32: "e0", -33: "d0df", -128: "d080", -129: "d1ff7f", -32768: "d18000", -32769: "d2ffff7fff",
		math.MinInt32: "d280000000", math.MinInt32 - 1: "d3ffffffff7fffffff", math.MinInt64: "d3ffe0000000000000",
	} {
		require.Equal(t, "81a16e"+want, hex.EncodeToString(rpc.Encode(nil, result{n})), n)
	}
}

func TestTextIsSentInItsSmallestFormAndAsStrOnlyWhenItIsUTF8(t *testing.T) {
	t.Parallel()
	type result struct {
		S string `codec:"s"`
		B []byte `codec:"b"`
	}
	for n, head := range map[int]string{0: "a0", 31: "bf", 32: "d920", 255: "d9ff", 256: "da0100", 65535: "daffff", 65536: "db00010000"} {
		got := hex.EncodeToString(rpc.Encode(nil, result{S: strings.Repeat("x", n)}))
		require.Equal(t, "82a173"+head+strings.Repeat("78", n)+"a162c400", got)
	}
	for n, head := range map[int]string{0: "c400", 255: "c4ff", 256: "c50100", 65536: "c600010000"} {
		got := hex.EncodeToString(rpc.Encode(nil, result{B: make([]byte, n)}))
		require.Equal(t, "82a173a0a162"+head+strings.Repeat("00", n), got)
	}
	require.Equal(t, "82a173c40361fffea162c400", hex.EncodeToString(rpc.Encode(nil, result{S: "a\xff\xfe"})))
}

func TestListsAreNeverNil(t *testing.T) {
	t.Parallel()
	require.Equal(t, "81a76d6574686f647390", hex.EncodeToString(rpc.Encode(nil, api.MethodsResult{})))
	long := api.HelloResult{Methods: make([]string, 16)}
	var got map[string]any
	require.NoError(t, codec.NewDecoderBytes(rpc.Encode(nil, long), msgpack).Decode(&got))
	require.Len(t, got["methods"], 16)
}

// go-msgpack reads back every result of the contract, with all fields zero and with all set.
func TestEveryResultIsReadByAnotherDecoder(t *testing.T) {
	t.Parallel()
	for _, spec := range append(append([]*api.Spec(nil), api.Methods()...), api.Events()...) {
		for _, typ := range []reflect.Type{spec.Result, spec.Params} {
			for _, full := range []bool{false, true} {
				v := reflect.New(typ)
				if full {
					fill(v.Elem(), 3)
				}
				b := rpc.Encode(nil, v.Elem().Interface())
				require.Equal(t, len(b), walk(b, 0), spec.Name)
				got := reflect.New(typ)
				require.NoError(t, codec.NewDecoderBytes(b, msgpack).Decode(got.Interface()), spec.Name)
				require.Equal(t, b, rpc.Encode(nil, got.Elem().Interface()), spec.Name)
			}
		}
	}
}

// fill sets every field to a value that is not zero.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Int64:
		v.SetInt(1 << 40)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), depth-1)
			fill(v.Index(1), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth)
		}
	}
}

// BenchmarkEncodeResult compares the table's encoder with go-msgpack's. The
// difference is the reason why this package has its own.
func BenchmarkEncodeResult(b *testing.B) {
	r := api.RatelimitResult{
		Allowed: true, Algorithm: "token_bucket", Band: "80/10m", Limit: 80, Remaining: 41, Current: 39,
		ResetAfterMS: 300_000, ResetAtMS: 1_767_225_600_000, Source: "redis",
	}
	b.Run("table", func(b *testing.B) {
		encode := rpc.Encoder(&r)
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			buf = encode(buf[:0])
		}
	})
	b.Run("go-msgpack", func(b *testing.B) {
		var buf []byte
		enc := codec.NewEncoderBytes(&buf, msgpack)
		b.ReportAllocs()
		for b.Loop() {
			enc.ResetBytes(&buf)
			_ = enc.Encode(&r)
		}
	})
}

// BenchmarkDecodeParams compares the decoder with go-msgpack's, on a call of the
// most frequent method.
func BenchmarkDecodeParams(b *testing.B) {
	params := encode(b, []any{m{"key": "example.com", "rule": "crawl", "cost": 2, "_deadline_ms": 5000}})
	b.Run("table", func(b *testing.B) {
		decode := rpc.Decoder(api.RatelimitAcquire.Name)
		b.ReportAllocs()
		for b.Loop() {
			decode(params)
		}
	})
	b.Run("go-msgpack", func(b *testing.B) {
		dec := codec.NewDecoderBytes(params, msgpack)
		b.ReportAllocs()
		for b.Loop() {
			var p api.RatelimitParams
			dec.ResetBytes(params[1:])
			if err := dec.Decode(&p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
