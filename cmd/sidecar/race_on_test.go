//go:build race

package main_test

// memoryFactor is how much more memory a process takes with the race detector.
const memoryFactor = 10
