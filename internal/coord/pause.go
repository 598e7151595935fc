package coord

import (
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The causes of pauses, for metrics and events.
const (
	causeManual  = "manual"
	causePenalty = "penalty"
)

var errFarPause = invalid("until_at_ms: that is more than 366 days away; pause for less, and again when that ends")

// checkPause wants one end of a pause, which scripts can reckon with.
func checkPause(p *api.RatelimitPauseParams) error {
	switch {
	case p.ForMS != 0 && p.UntilAtMS != 0:
		return invalid("for_ms: given together with until_at_ms; give the one or the other")
	case p.ForMS == 0 && p.UntilAtMS == 0:
		return invalid("for_ms: missing; give it, or until_at_ms")
	case p.UntilAtMS/1000 > lastSecond:
		return errFarPause
	default:
		return nil
	}
}

// statusClass is one of a closed list.
func statusClass(status int64) string {
	if status >= 100 && status < 600 {
		return string('0'+rune(status/100)) + "xx"
	}
	return "other"
}

// The bounds of a band, as on the wire (api.Band).
const (
	maxLimit  = 1_000_000_000
	maxPeriod = 366 * 24 * time.Hour
)

// The bounds of what a remote server may bring about, as on the wire (api.Rule).
const (
	maxDelay   = 24 * time.Hour
	minStatus  = 100
	maxStatus  = 999
	maxPercent = 100
)

// lastSecond is one whose microseconds are exact in scripts, far from now.
const lastSecond = 1 << 33
