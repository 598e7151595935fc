package client

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// handle is how values are encoded and decoded. Integers are decoded as signed, because
// all of them are within 2^53.
var handle = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true, PositiveIntUnsigned: true}
	h.MapType = reflect.TypeFor[map[string]any]()
	h.SignedInteger = true
	h.MaxDepth = 16
	h.MaxInitLen = 1024
	h.ExplicitRelease = true
	return h
}()

// decode reads the value at the start of b into v.
func decode(d *codec.Decoder, b []byte, v any) error {
	d.ResetBytes(b)
	return d.Decode(v)
}

// pairs removes the header of an encoded params map and returns the number of its pairs, to
// which the metadata is added.
func pairs(b []byte, params any) ([]byte, int, error) {
	c := b[0]
	if c == codeNil {
		return nil, 0, nil
	}
	if c&0xf0 != 0x80 && c != 0xde && c != 0xdf {
		return nil, 0, fmt.Errorf("params are a %T: give a map or a struct", params)
	}
	head, values, _ := header(b)
	return b[head:], values / 2, nil
}

const codeNil = 0xc0

// decodeReply reads the error and the result of a response. An error reply is
// returned as *api.Error. known is a string that the result probably contains, and then shares.
func decodeReply(d *codec.Decoder, b []byte, result any, known string) error {
	if len(b) == 0 {
		return errMalformed
	}
	if b[0] != codeNil {
		return decodeError(d, b)
	}
	if result == nil {
		return nil
	}
	if s, v := shapeOf(result); s != nil && v.CanSet() && v.IsZero() {
		if s.read(b[1:], v, known) {
			return nil
		}
		v.SetZero()
	}
	return decode(d, b[1:], result)
}

// decodeError reads either form of an error.
func decodeError(d *codec.Decoder, b []byte) error {
	r := cursor{b}
	if n, ok := r.array(); ok {
		if n != 2 {
			return errMalformed
		}
		_, kind := r.integer()
		text, words := r.text()
		if !kind || !words {
			return errMalformed
		}
		code, message, found := strings.Cut(text, ": ")
		if !found {
			code, message = string(api.Internal), text
		}
		e := &api.Error{Code: api.Code(code), Message: message}
		e.Retryable = e.Code.Retryable()
		return e
	}
	e := new(api.Error)
	if err := decode(d, b, e); err != nil {
		return fmt.Errorf("%w: error reply: %w", errMalformed, err)
	}
	return e
}
