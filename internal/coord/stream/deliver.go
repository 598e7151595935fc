package stream

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// delivering are the methods of consumers.
func (s *Streams) delivering() []coord.Method { return nil }
