// Package luatest has what tests of scripts share: stores on which a script runs by
// the test's own clock, the timelines in a noun's testdata, a proxy that loses replies, and
// runners that end with their test.
//
// Its invariant: its functions work in the same way on the embedded store, on real Redis and
// on a cluster, so that one test serves all of them.
//
// It depends on no noun, except that UntilUp runs a script of one to find out whether a
// runner has reached its Redis.
package luatest
