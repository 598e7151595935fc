// Package nearest finds the name that a user probably meant: "did you mean"
// for methods, parameters, configuration keys and variables.
//
// Its invariant: its cost is bounded whatever the length of what was written,
// since clients choose that text.
package nearest

// maxBytes is the longest text that is compared: all names of Coxswain are much shorter.
const maxBytes = 64

// Name returns the candidate closest to written, and whether it is close enough
// to be worth naming: at most a third of its length away, two edits for short
// names. The first of equally close candidates wins.
func Name(written string, candidates []string) (string, bool) {
	if len(written) == 0 || len(written) > maxBytes {
		return "", false
	}
	best, least := "", len(written)+1
	for _, c := range candidates {
		if len(c) > maxBytes {
			continue
		}
		if d := distance(written, c); d < least {
			best, least = c, d
		}
	}
	return best, best != "" && least <= max(2, len(best)/3) && least < len(best)
}

// distance is the optimal string alignment distance (Damerau-Levenshtein without
// moves across a transposition) in bytes: inserting, deleting, replacing or
// swapping neighbours costs 1. See Boytsov, Indexing methods for approximate
// dictionary searching, 2011.
func distance(a, b string) int {
	var rows [3][maxBytes + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			d := min(replace, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			row[j+1] = d
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
