package main

// What the tests of this program see of it.
var (
	Sequence = sequence
	Limit    = limit
)
