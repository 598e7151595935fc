package stream

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// publishing are the methods that add messages.
func (s *Streams) publishing() []coord.Method { return nil }
