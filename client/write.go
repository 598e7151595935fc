package client

// later writes nothing, so that the background goroutine writes everything.
func later([]byte) (int, error) { return 0, nil }
