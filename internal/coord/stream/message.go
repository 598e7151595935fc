package stream

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// envelope is a message as it is kept in Redis: a MessagePack map with short keys. Unknown keys
// are skipped, so that older and newer sidecars can share a stream.
type envelope struct {
	Body        []byte            `codec:"b,omitempty"`
	Fields      map[string]string `codec:"f,omitempty"`
	Traceparent string            `codec:"t,omitempty"`
}

// handle encodes text as str and bytes as bin, so that both are decoded as what they were.
var handle = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true}
	h.RawToString = true
	return h
}()

// Encoders and decoders are larger than most messages, so they are pooled.
var (
	nothing  = []byte{} // the buffer of those in a pool; nothing writes to it
	encoders = sync.Pool{New: func() any { return codec.NewEncoderBytes(&nothing, handle) }}
	decoders = sync.Pool{New: func() any { return codec.NewDecoderBytes(nothing, handle) }}
)

// pack encodes a message, with the trace context of ctx.
func pack(ctx context.Context, body []byte, fields map[string]string) (string, error) {
	e := envelope{Body: body, Fields: fields}
	if trace.SpanContextFromContext(ctx).IsValid() {
		carrier := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, carrier)
		e.Traceparent = carrier["traceparent"]
	}
	b := make([]byte, 0, len(body)+64)
	encoder := encoders.Get().(*codec.Encoder) //nolint:forcetypeassert // the pool has no other type
	encoder.ResetBytes(&b)
	err := encoder.Encode(&e)
	encoder.ResetBytes(&nothing) // the pool must not keep the message alive
	encoders.Put(encoder)
	if err != nil {
		return "", fmt.Errorf("encode a message: %w", err)
	}
	return string(b), nil
}

// unpack decodes a message that pack encoded.
func unpack(message string) (e envelope, err error) {
	decoder := decoders.Get().(*codec.Decoder) //nolint:forcetypeassert // the pool has no other type
	decoder.ResetBytes([]byte(message))
	err = decoder.Decode(&e)
	decoder.ResetBytes(nothing) // the pool must not keep the message alive
	decoders.Put(decoder)
	if err != nil {
		return envelope{}, fmt.Errorf("decode a message: %w", err)
	}
	return e, nil
}
