package coord

import "go.opentelemetry.io/otel/attribute"

// LimitAnswer is the answer of a limit. It describes one band, numbered from 1: the band that refuses (of
// several, the one that admits last), else the one with the least remaining.
type LimitAnswer struct {
	Allowed Admission
	Band    int64
	// Remaining is rounded down and never negative. Current is rounded up; the part above
	// the capacity is promised to slots that have not come.
	Remaining, Current int64
	// RetryAfterUS is 0 when allowed and -1 when the cost never fits. A wait of more than
	// 2^53 us (285 years) is returned as 2^53 us.
	RetryAfterUS, ResetAfterUS, NowUS int64
	// Denied is limit, pause, delay or concurrency; empty when it is not refused.
	Denied string
	// Newer is the signature of the rule that decided, to whose bands Band refers, if it is
	// newer than the caller's; empty = the caller's rule decided.
	Newer string
}

// Admission is the decision about a charge.
type Admission int64

// The values of Admission.
const (
	AdmissionRefused  Admission = 0
	AdmissionNow      Admission = 1
	AdmissionReserved Admission = 2 // at the slot, which is at NowUS + RetryAfterUS
)

// Admitted reports whether the cost fits now.
func (a LimitAnswer) Admitted() bool { return a.Allowed == AdmissionNow }

// Reserved reports whether a slot was promised.
func (a LimitAnswer) Reserved() bool { return a.Allowed == AdmissionReserved }

// PauseOut is the pause in force.
type PauseOut struct {
	// UntilUS is when the pause ends; 0 = there is none, -1 = it would end later than
	// LongestUS from now, and nothing was done.
	UntilUS int64
	Changed bool // the pause in force is the one that was asked for
	NowUS   int64
}

// SpanAttrs returns the decision and what remains.
func (a LimitAnswer) SpanAttrs() []attribute.KeyValue {
	decision := "denied"
	switch {
	case a.Admitted():
		decision = "allowed"
	case a.Reserved():
		decision = "reserved"
	}
	return []attribute.KeyValue{
		attribute.String("coxswain.decision", decision),
		attribute.Int64("coxswain.remaining", a.Remaining),
	}
}
