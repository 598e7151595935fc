package doctor

// What tests judge without servers that are as they want them.
var (
	Clocks  = clocks
	Latency = latency
)
