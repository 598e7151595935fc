//go:build !race

package clienttest_test

const raceEnabled = false
