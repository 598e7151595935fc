package coord

// Jitter is PenaltyOptions.JitterPercent for a percentage that was given, where
// 0 means none.
func Jitter(percent int64) int64 {
	if percent <= 0 {
		return percent - 1
	}
	return percent
}

// GivenJitter undoes Jitter.
func GivenJitter(option int64) int64 {
	if option < 0 {
		return option + 1
	}
	return option
}
