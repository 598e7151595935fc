package stream

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"go.opentelemetry.io/otel/propagation"
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

// pack is a message to be kept, with the trace context of ctx.
func pack(ctx context.Context, body []byte, fields map[string]string) (string, error) {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	var b []byte
	err := codec.NewEncoderBytes(&b, handle).Encode(envelope{Body: body, Fields: fields, Traceparent: carrier["traceparent"]})
	if err != nil {
		return "", fmt.Errorf("encode a message: %w", err)
	}
	return string(b), nil
}

// unpack undoes pack.
func unpack(message string) (e envelope, err error) {
	if err := codec.NewDecoderBytes([]byte(message), handle).Decode(&e); err != nil {
		return envelope{}, fmt.Errorf("decode a message: %w", err)
	}
	return e, nil
}
