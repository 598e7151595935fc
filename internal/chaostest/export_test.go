package chaostest

// ReadJournal reads what a consumer writes.
var ReadJournal = readJournal
