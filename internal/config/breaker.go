package config

import "github.com/coxswain-sidecar/coxswain/client/api"

// Breakers are the policies of circuit breakers.
type Breakers struct {
	Items []api.BreakerPolicy `yaml:"items"`
}
