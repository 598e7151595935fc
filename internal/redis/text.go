package redis

import (
	"bytes"
	"crypto/tls"
	"os"
)

// readText reads a file without the byte order mark that some editors write first. It
// is not part of a password, and no PEM block may follow it on its line.
func readText(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

// loadPair is tls.LoadX509KeyPair for files that may have a byte order mark.
func loadPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := readText(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readText(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}
