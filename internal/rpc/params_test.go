package rpc_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// sample has a field of every kind that params may have.
type sample struct {
	Name  string   `codec:"name" required:"true" doc:"a name"`
	Count int64    `codec:"count,omitempty" default:"7" min:"-5" max:"100" doc:"a count"`
	Wide  int64    `codec:"wide,omitempty" doc:"any integer"`
	Mode  string   `codec:"mode,omitempty" default:"slow" enum:"slow,fast" doc:"a mode"`
	Short string   `codec:"short,omitempty" maxlen:"3" doc:"a short text"`
	On    bool     `codec:"on,omitempty" default:"true" doc:"a switch"`
	Body  []byte   `codec:"body,omitempty" maxlen:"4" doc:"bytes"`
	Tags  []string `codec:"tags,omitempty" doc:"texts"`
	One   inner    `codec:"one,omitempty" doc:"a map"`
	Maybe *inner   `codec:"maybe,omitempty" doc:"a map or none"`
	Many  []inner  `codec:"many,omitempty" doc:"a list of maps"`
	Opt   *int64   `codec:"opt,omitempty" min:"0" doc:"an integer or none"`
	Said  int64    `codec:"said,omitempty" zero:"-1" min:"-9" doc:"an integer of which 0 says something"`
	Codes []int64  `codec:"codes,omitempty" min:"1" max:"9" doc:"integers"`
	Deep  *outer   `codec:"deep,omitempty" doc:"a map of lists of maps"`
}

type outer struct {
	Inner []nested `codec:"inner" required:"true" doc:"a list of maps with lists"`
}

type nested struct {
	Name  string  `codec:"name,omitempty" doc:"a name"`
	Limit []inner `codec:"limit,omitempty" doc:"a list of maps"`
	Maybe *int64  `codec:"maybe,omitempty" min:"0" max:"3" doc:"an integer or none"`
}

type inner struct {
	Limit  int64 `codec:"limit" required:"true" min:"0" doc:"a limit"`
	Period int64 `codec:"period,omitempty" default:"60" min:"1" doc:"a period"`
}

func decodeSample(t testing.TB, params any) (sample, *rpc.Meta, *api.Error) {
	t.Helper()
	return decodeRaw(t, encode(t, params))
}

func decodeRaw(t testing.TB, params []byte) (sample, *rpc.Meta, *api.Error) {
	t.Helper()
	v, m, err := rpc.DecodeInto(reflect.TypeFor[sample](), params)
	if err != nil {
		return sample{}, m, err
	}
	return v.(sample), m, nil
}

// m is a params map.
type m = map[string]any

func TestParamsAreDecodedWithDefaults(t *testing.T) {
	t.Parallel()
	five := int64(5)
	base := sample{Name: "n", Count: 7, Mode: "slow", On: true}
	with := func(f func(*sample)) sample { s := base; f(&s); return s }
	for name, c := range map[string]struct {
		params m
		want   sample
	}{
		"defaults":              {m{}, base},
		"zero is not absent":    {m{"count": 0, "on": false}, with(func(s *sample) { s.Count, s.On = 0, false })},
		"a zero that says so":   {m{"said": 0}, with(func(s *sample) { s.Said = -1 })},
		"nil is absent":         {m{"count": nil, "mode": nil, "tags": nil, "one": nil, "maybe": nil, "opt": nil}, base},
		"negative":              {m{"count": -5}, with(func(s *sample) { s.Count = -5 })},
		"integral float":        {m{"count": 99.0, "wide": -float64(api.MaxInt)}, with(func(s *sample) { s.Count, s.Wide = 99, -api.MaxInt })},
		"float32":               {m{"count": float32(12)}, with(func(s *sample) { s.Count = 12 })},
		"negative zero":         {m{"count": math.Copysign(0, -1)}, with(func(s *sample) { s.Count = 0 })},
		"the ends of integers":  {m{"wide": int64(api.MaxInt)}, with(func(s *sample) { s.Wide = api.MaxInt })},
		"enum":                  {m{"mode": "fast"}, with(func(s *sample) { s.Mode = "fast" })},
		"bin as text":           {m{"short": []byte{0xff, 0xfe}}, with(func(s *sample) { s.Short = "\xff\xfe" })},
		"text as bin":           {m{"body": "abcd"}, with(func(s *sample) { s.Body = []byte("abcd") })},
		"list of text":          {m{"tags": []string{"a", ""}}, with(func(s *sample) { s.Tags = []string{"a", ""} })},
		"map":                   {m{"one": m{"limit": 1}}, with(func(s *sample) { s.One = inner{1, 60} })},
		"pointer to a map":      {m{"maybe": m{"limit": 2, "period": 3}}, with(func(s *sample) { s.Maybe = &inner{2, 3} })},
		"pointer to an integer": {m{"opt": 5}, with(func(s *sample) { s.Opt = &five })},
		"list of maps":          {m{"many": []m{{"limit": 1}, {"limit": 2, "period": 9}}}, with(func(s *sample) { s.Many = []inner{{1, 60}, {2, 9}} })},
		"list of integers":      {m{"codes": []any{1, 9.0}}, with(func(s *sample) { s.Codes = []int64{1, 9} })},
		"lists of maps in a map": {
			m{"deep": m{"inner": []m{{"name": "a", "limit": []m{{"limit": 1}, {"limit": 2, "period": 3}}}, {"maybe": 0}}}},
			with(func(s *sample) {
				s.Deep = &outer{[]nested{{Name: "a", Limit: []inner{{1, 60}, {2, 3}}}, {Maybe: new(int64)}}}
			}),
		},
		"map for an empty list": {m{"tags": m{}}, base},
		"metadata is ignored":   {m{"_x": []any{1, m{"a": nil}}, "_": true}, base},
	} {
		c.params["name"] = "n"
		got, _, err := decodeSample(t, []any{c.params})
		require.Nil(t, err, name)
		if len(got.Tags) == 0 {
			got.Tags = nil // an empty list means the same as no list
		}
		require.Empty(t, cmp.Diff(c.want, got), name)
	}
}

func TestParamsTakeEveryForm(t *testing.T) {
	t.Parallel()
	for _, hex := range []string{
		"91" + "81a46e616d65a161",        // [{name: a}]
		"81a46e616d65a161",               // a bare map
		"dc0001de0001d9046e616d65c40161", // wide headers, str 8 key, bin value
		"dd00000001df00000001c4046e616d65da000161",
	} {
		got, _, err := decodeRaw(t, unhex(t, hex))
		require.Nil(t, err, hex)
		require.Equal(t, "a", got.Name)
	}
	// If nothing is required, every form of empty params is accepted.
	for _, hex := range []string{"c0", "90", "80", "9180", "9190", "91c0", "dc0000", "df00000000"} {
		_, _, err := rpc.DecodeInto(reflect.TypeFor[api.Nothing](), unhex(t, hex))
		require.Nil(t, err, hex)
		_, _, err = rpc.DecodeInto(reflect.TypeFor[sample](), unhex(t, hex))
		require.Equal(t, "name: it is required: a name", err.Message, hex)
	}
}

func TestMistakesInParamsNameTheKeyAndTheRemedy(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 513)
	for name, c := range map[string]struct {
		params m
		want   string
	}{
		"fraction":            {m{"count": 3.5}, "count: an integer from -5 to 100 is expected, not 3.5"},
		"1e300":               {m{"count": 1e300}, "count: an integer from -5 to 100 is expected, not 1e+300"},
		"NaN":                 {m{"count": math.NaN()}, "count: an integer from -5 to 100 is expected, not NaN"},
		"infinity":            {m{"count": math.Inf(-1)}, "count: an integer from -5 to 100 is expected, not -Inf"},
		"uint64":              {m{"wide": uint64(math.MaxUint64)}, "not 18446744073709551615"},
		"past 2^53":           {m{"wide": int64(api.MaxInt + 1)}, "wide: an integer from -9007199254740992 to 9007199254740992 is expected"},
		"the least int64":     {m{"wide": int64(math.MinInt64)}, "not -9223372036854775808"},
		"too small":           {m{"count": -6}, "not -6"},
		"too large":           {m{"count": 101}, "not 101"},
		"text for int":        {m{"count": "1"}, `count: an integer from -5 to 100 is expected, not "1"`},
		"bool for int":        {m{"count": true}, "not true"},
		"int for text":        {m{"short": 1}, "short: text of at most 3 bytes is expected, not 1"},
		"long text":           {m{"short": "abcd"}, "short: text of at most 3 bytes is expected, not of 4"},
		"not UTF-8":           {m{"short": "\xff"}, "short: str is expected to be UTF-8; send other bytes as bin"},
		"long name":           {m{"name": long}, "name: text of 1 to 512 bytes is expected, not of 513"},
		"empty name":          {m{"name": ""}, `name: text of 1 to 512 bytes is expected, not ""`},
		"nil name":            {m{"name": nil}, "name: it is required: a name"},
		"enum":                {m{"mode": "medium"}, `mode: one of slow, fast is expected, not "medium"`},
		"int for bool":        {m{"on": 2}, "on: true or false, or 1 or 0, is expected, not 2"},
		"long bin":            {m{"body": "abcde"}, "body: bin of at most 4 bytes is expected"},
		"map for list":        {m{"tags": m{"a": 1}}, "tags: a list is expected, not a map"},
		"text for list":       {m{"many": "a"}, `many: a list is expected, not "a"`},
		"int in list":         {m{"tags": []any{"a", 1}}, "tags[1]: text of at most 512 bytes is expected, not 1"},
		"text in integers":    {m{"codes": []any{1, "a"}}, `codes[1]: an integer from 1 to 9 is expected, not "a"`},
		"past its bound":      {m{"codes": []any{10}}, "codes[0]: an integer from 1 to 9 is expected, not 10"},
		"deeper":              {m{"deep": m{"inner": []m{{}, {"limit": []m{{"limit": -1}}}}}}, "deep.inner[1].limit[0].limit: an integer from 0"},
		"deep pointer":        {m{"deep": m{"inner": []m{{"maybe": 4}}}}, "deep.inner[0].maybe: an integer from 0 to 3 is expected, not 4"},
		"absent in a pointer": {m{"deep": m{}}, "deep.inner: it is required: a list of maps"},
		"list for map":        {m{"one": []any{1}}, "one: a map is expected, not a list"},
		"nil in list":         {m{"many": []any{nil}}, "many[0]: a map is expected, not nil"},
		"deep value":          {m{"many": []any{m{"limit": 1}, m{"limit": 1, "period": 0}}}, "many[1].period: an integer from 1 to"},
		"deep absence":        {m{"many": []any{m{"period": 1}}}, "many[0].limit: it is required: a limit"},
		"deep key":            {m{"one": m{"limit": 1, "perod": 1}}, "one.perod: unknown key; did you mean period?"},
		"deep metadata":       {m{"one": m{"limit": 1, "_x": 1}}, "one._x: unknown key"},
		"unknown key":         {m{"cuont": 1}, "cuont: unknown key; did you mean count?"},
		"far from any":        {m{"frobnicate": 1}, "frobnicate: unknown key; known are name, count, wide"},
		"hostile key":         {m{"a\x00\xff" + long: 1}, `a\x00\xffxxx`},
		"deadline":            {m{"_deadline_ms": 1.5}, "_deadline_ms: the milliseconds left, 0 or more, are expected, not 1.5"},
		"past deadline":       {m{"_deadline_ms": -1}, "not -1"},
		"request id":          {m{"_request_id": ""}, "_request_id: text of 1 to 64 bytes is expected"},
		"long request id":     {m{"_request_id": long}, "_request_id: text of 1 to 64 bytes"},
		"int request id":      {m{"_request_id": 5}, "_request_id: text of 1 to 64 bytes is expected, not 5"},
	} {
		if _, ok := c.params["name"]; !ok {
			c.params["name"] = "n"
		}
		_, _, err := decodeSample(t, c.params)
		require.NotNil(t, err, name)
		require.Equal(t, api.InvalidArgument, err.Code, name)
		require.Contains(t, err.Message, c.want, name)
		require.Less(t, len(err.Message), 300, name)
	}
}

func TestMistakesInTheFormOfParams(t *testing.T) {
	t.Parallel()
	for hex, want := range map[string]string{
		"05":                             "params: a map is expected, not 5: parameters go by name",
		"91a178":                         `params: a map is expected, not "x": parameters go by name`,
		"920102":                         "params: one map is expected, not 2 values: parameters go by name",
		"9191c0":                         "params: a map is expected, not a list",
		"d40102":                         "params: a map is expected, not an extension",
		"82a46e616d65a16105c0":           "a key is 5; keys are text",
		"82a46e616d65a161a46e616d65a162": "name: it is given twice",
	} {
		_, _, err := decodeRaw(t, unhex(t, hex))
		require.NotNil(t, err, hex)
		require.Contains(t, err.Message, want, hex)
	}
}

func TestMetadataIsRead(t *testing.T) {
	t.Parallel()
	_, meta, err := decodeSample(t, m{
		"name": "n", "_deadline_ms": 1500.0, "_request_id": []byte("id"), "_traceparent": "00-a-b-01",
	})
	require.Nil(t, err)
	ms, ok := meta.DeadlineMS()
	require.True(t, ok)
	require.EqualValues(t, 1500, ms)
	require.Equal(t, "id", meta.RequestID())
	require.Equal(t, "00-a-b-01", meta.Traceparent())

	_, meta, err = decodeSample(t, m{"name": "n", "_deadline_ms": api.MaxInt, "_traceparent": 5, "_tracestate": strings.Repeat("x", 600)})
	require.Nil(t, err, "a trace context that cannot be read is no reason to refuse a call")
	ms, _ = meta.DeadlineMS()
	require.EqualValues(t, api.MaxDeadlineMS, ms)
	require.Empty(t, meta.Traceparent())
}

// A list grows as its elements are read: a declared length allocates nothing.
func TestParamsAllocateNothingForDeclaredLengths(t *testing.T) {
	params := append(unhex(t, "81a46d616e79dd0000ffff"), make([]byte, 0xffff)...)
	require.Less(t, testing.AllocsPerRun(10, func() {
		_, _, err := decodeRaw(t, params)
		require.Contains(t, err.Message, "many[0]")
	}), 200.0)
}

func TestFingerprintIsOfTheCallNotOfItsBytes(t *testing.T) {
	t.Parallel()
	same := []string{
		rpc.Fingerprint("lock.acquire", unhex(t, "9182a46e616d65a161a474746c5f6d73c0"[:len("9182a46e616d65a161")]+"a674746c5f6d73cd7530")),
		rpc.Fingerprint("lock.acquire", encode(t, m{"name": "a"})),
		rpc.Fingerprint("lock.acquire", encode(t, []any{m{"name": []byte("a"), "bind": "session", "ttl_ms": 30000.0, "token": nil}})),
		rpc.Fingerprint("lock.acquire", encode(t, m{"name": "a", "_request_id": "other", "_deadline_ms": 5})),
	}
	for _, f := range same {
		require.Equal(t, same[0], f)
		require.Len(t, f, 64)
	}
	for _, other := range []string{
		rpc.Fingerprint("lock.acquire", encode(t, m{"name": "b"})),
		rpc.Fingerprint("lock.acquire", encode(t, m{"name": []byte("\xff")})),
		rpc.Fingerprint("lock.acquire", encode(t, m{"name": []byte("\xfe")})),
		rpc.Fingerprint("lock.get", encode(t, m{"name": "a"})),
		rpc.Fingerprint("ratelimit.acquire", encode(t, m{"key": "a", "cost": 0})),
		rpc.Fingerprint("ratelimit.acquire", encode(t, m{"key": "a"})),
	} {
		require.NotContains(t, same, other)
		same = append(same, other)
	}
}

// The decoder reads back the values that the encoder writes.
func TestParamsSurviveARoundTrip(t *testing.T) {
	t.Parallel()
	text := rapid.StringN(0, 20, 60)
	one := rapid.Custom(func(t *rapid.T) inner {
		return inner{rapid.Int64Range(0, api.MaxInt).Draw(t, "limit"), rapid.Int64Range(1, api.MaxInt).Draw(t, "period")}
	})
	rapid.Check(t, func(t *rapid.T) {
		in := sample{
			Name:  "n" + text.Draw(t, "name"),
			Count: rapid.Int64Range(-5, 100).Draw(t, "count"),
			Wide:  rapid.Int64Range(-api.MaxInt, api.MaxInt).Draw(t, "wide"),
			Mode:  rapid.SampledFrom([]string{"slow", "fast"}).Draw(t, "mode"),
			On:    true,
			Body:  rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "body"),
			Tags:  rapid.SliceOfN(text, 1, 40).Draw(t, "tags"),
			One:   one.Draw(t, "one"),
			Maybe: rapid.Ptr(one, true).Draw(t, "maybe"),
			Many:  rapid.SliceOfN(one, 1, 20).Draw(t, "many"),
		}
		if in.Count == 0 {
			in.Count = 1 // the encoder omits a zero, which the decoder would read as the default
		}
		b := rpc.Encode(nil, in)
		if walk(b, 0) != len(b) {
			t.Fatalf("%x is not one value", b)
		}
		v, _, err := rpc.DecodeInto(reflect.TypeFor[sample](), b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(in, v); d != "" {
			t.Fatal(d)
		}
	})
}

// FuzzParams checks that any params are either decoded, or refused with the code of a
// caller's mistake and a text that can be sent.
func FuzzParams(f *testing.F) {
	for _, v := range allVectors(f) {
		f.Add(v)
	}
	methods := api.Methods()
	f.Fuzz(func(t *testing.T, b []byte) {
		s := newSkimmer()
		size, whole, _ := s.Skim(b)
		if !whole {
			return
		}
		_, method, params, fault := s.Envelope(b)
		if fault != "" {
			params = b[:size] // any value that the skimmer accepted may serve as params
		}
		types := []reflect.Type{reflect.TypeFor[sample]()}
		if spec, ok := api.Lookup(string(method)); ok {
			types = append(types, spec.Params)
		} else {
			for _, spec := range methods {
				types = append(types, spec.Params)
			}
		}
		for _, typ := range types {
			v, _, err := rpc.DecodeInto(typ, params)
			if err == nil {
				require.True(t, walk(rpc.Encode(nil, v), 0) > 0)
				continue
			}
			require.Contains(t, []api.Code{api.InvalidArgument, api.InvalidRequest}, err.Code)
			require.True(t, utf8.ValidString(err.Message))
			require.NotEmpty(t, err.Message)
			require.Less(t, len(err.Message), 1000)
		}
	})
}
