package stream

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// envelope is a message as it is kept in Redis: a MessagePack map with short keys. Keys that are
// not known are skipped, so that old and new sidecars share a stream.
type envelope struct {
	Body        []byte            `codec:"b,omitempty"`
	Fields      map[string]string `codec:"f,omitempty"`
	Traceparent string            `codec:"t,omitempty"`
}

// handle writes text as str and bytes as bin, so that both come back as they came.
var handle = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true}
	h.RawToString = true
	return h
}()

// An encoder and a decoder are larger than most messages, so that they are kept for the next.
var (
	nothing  = []byte{} // what they have meanwhile, in which nobody writes
	encoders = sync.Pool{New: func() any { return codec.NewEncoderBytes(&nothing, handle) }}
	decoders = sync.Pool{New: func() any { return codec.NewDecoderBytes(nothing, handle) }}
)

// pack is a message to be kept, with the trace context of ctx.
func pack(ctx context.Context, body []byte, fields map[string]string) (string, error) {
	e := envelope{Body: body, Fields: fields}
	if trace.SpanContextFromContext(ctx).IsValid() {
		carrier := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, carrier)
		e.Traceparent = carrier["traceparent"]
	}
	b := make([]byte, 0, len(body)+64)
	encoder := encoders.Get().(*codec.Encoder) //nolint:forcetypeassert // it holds nothing else
	encoder.ResetBytes(&b)
	err := encoder.Encode(&e)
	encoder.ResetBytes(&nothing) // it keeps no message
	encoders.Put(encoder)
	if err != nil {
		return "", fmt.Errorf("encode a message: %w", err)
	}
	return string(b), nil
}

// unpack undoes pack.
func unpack(message string) (e envelope, err error) {
	decoder := decoders.Get().(*codec.Decoder) //nolint:forcetypeassert // it holds nothing else
	decoder.ResetBytes([]byte(message))
	err = decoder.Decode(&e)
	decoder.ResetBytes(nothing) // it keeps no message
	decoders.Put(decoder)
	if err != nil {
		return envelope{}, fmt.Errorf("decode a message: %w", err)
	}
	return e, nil
}
