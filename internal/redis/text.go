package redis

import (
	"bytes"
	"crypto/tls"
	"os"
)

// readText reads a file without the byte order mark that some editors put before
// its text: it is no part of a password, and a PEM block begins with its line.
func readText(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

// loadPair is tls.LoadX509KeyPair for files of text.
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
