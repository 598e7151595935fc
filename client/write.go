package client

// later writes nothing, so that everything is left to the background.
func later([]byte) (int, error) { return 0, nil }
