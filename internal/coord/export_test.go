package coord

// Bursts counts what is remembered of sampled events.
func (e *Events) Bursts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.bursts)
}

// MaxBursts bounds that.
const MaxBursts = maxBursts
