package chaostest

// ReadJournal reads the journal of a consumer.
var ReadJournal = readJournal
