package main

// What the tests of this program see of it.
var (
	Render = render
	Typed  = typed
	More   = more
)
