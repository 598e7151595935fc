package port

// MaxConns bounds the connections of a port.
const MaxConns = maxConns
