package ratelimit

// AlgorithmNames are those that a rule may name, sorted.
func AlgorithmNames() (names []string) {
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}
