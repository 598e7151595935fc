package coord

import (
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The causes of pauses, for metrics and events.
const (
	CauseManual  = "manual"
	CausePenalty = "penalty"
)

// ErrFarPause is the error of a pause that is longer than MaxPeriod.
var ErrFarPause = Invalid("until_at_ms: that is more than 366 days away; pause for less, and again when that ends")

// CheckPause checks that the params give exactly one end of a pause, and one that scripts can calculate with.
func CheckPause(p *api.RatelimitPauseParams) error {
	switch {
	case p.ForMS != 0 && p.UntilAtMS != 0:
		return Invalid("for_ms: given together with until_at_ms; give the one or the other")
	case p.ForMS == 0 && p.UntilAtMS == 0:
		return Invalid("for_ms: missing; give it, or until_at_ms")
	case p.UntilAtMS/1000 > lastSecond:
		return ErrFarPause
	default:
		return nil
	}
}

// StatusClass returns the class of an HTTP status, such as 2xx, or other: one of a closed list, for metrics.
func StatusClass(status int64) string {
	if status >= 100 && status < 600 {
		return string('0'+rune(status/100)) + "xx"
	}
	return "other"
}

// The bounds of a band, as on the wire (api.Band).
const (
	MaxLimit  = 1_000_000_000
	MaxPeriod = 366 * 24 * time.Hour
)

// The bounds of settings about answers of remote servers, as on the wire (api.Rule).
const (
	MinStatus  = 100
	MaxStatus  = 999
	MaxPercent = 100
)

// lastSecond is the latest second that a pause may end at: far in the future, and exact in scripts in microseconds.
const lastSecond = 1 << 33
