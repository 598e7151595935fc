// Package luatest is what tests of scripts have in common: stores on which a script runs by
// the test's own clock, the timelines in a noun's testdata, a proxy that loses replies, and
// runners that end with their test.
//
// Its invariant: what it offers runs alike on the embedded store, on real Redis and on a
// cluster, so that a test is written once for all of them.
//
// It knows no noun, except that it asks one of their scripts whether a runner has reached
// its Redis.
package luatest
