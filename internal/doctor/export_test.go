package doctor

// Functions that tests call directly, because no test server has such clocks or such a latency.
var (
	Clocks  = clocks
	Latency = latency
)
