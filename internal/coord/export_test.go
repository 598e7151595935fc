package coord

// Bursts returns the number of entries kept for the sampling of events.
func (e *Events) Bursts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.bursts)
}

// MaxBursts is the largest number that Bursts returns.
const MaxBursts = maxBursts
