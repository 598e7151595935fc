package main

// Files is what the tests of this program see of it.
var Files = files
