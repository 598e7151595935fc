//go:build !race

package ratelimit_test

const raceFactor = 1
