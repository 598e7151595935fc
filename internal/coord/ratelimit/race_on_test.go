//go:build race

package ratelimit_test

// raceFactor is how many times fewer random steps are taken with the race detector, which makes each several times
// slower: what it looks for comes in the first ones, and all of them are taken without it.
const raceFactor = 5
