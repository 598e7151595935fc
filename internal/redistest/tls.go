package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TLSServer is a server that speaks TLS only and asks every client for a
// certificate of the same authority.
type TLSServer struct {
	*Server
	// CA, Cert and Key are PEM files: the authority, and a client's certificate
	// and key.
	CA, Cert, Key string
	// Other is the file of an authority that has signed nothing here.
	Other string
}

// ServerName is what the certificates of StartTLS are made out to, beside 127.0.0.1.
const ServerName = "redis.test"

// StartTLS runs a private server with certificates made for this test. Args are
// appended to the command line: "--tls-auth-clients", "no" takes clients
// without a certificate.
func StartTLS(t testing.TB, args ...string) *TLSServer {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	ca, other := newAuthority(t), newAuthority(t)
	ca.write(t, file("ca.pem"))
	other.write(t, file("other.pem"))
	ca.issue(t, file("server.pem"), file("server.key"))
	ca.issue(t, file("client.pem"), file("client.key"))
	s := &Server{t: t, dir: t.TempDir(), args: append([]string{
		"--tls-cert-file", file("server.pem"), "--tls-key-file", file("server.key"), "--tls-ca-cert-file", file("ca.pem"),
	}, args...)}
	start := func(addr string) (*process, error) {
		return launch(addr, s.dir, append([]string{"--port", "0", "--tls-port", port(addr)}, s.args...))
	}
	p, err := onFreePort(start)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s.run, s.addr, s.args = p, p.addr, append([]string{"--port", "0", "--tls-port", port(p.addr)}, s.args...)
	t.Cleanup(s.Stop)
	return &TLSServer{s, file("ca.pem"), file("client.pem"), file("client.key"), file("other.pem")}
}

// URL is the server's rediss:// address.
func (s *TLSServer) URL() string { return "rediss://" + s.addr }

// Client returns a plain client with the client's certificate, closed with the test.
func (s *TLSServer) Client(t testing.TB) *redis.Client {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	text, err := os.ReadFile(s.CA)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	c := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, TLSConfig: &tls.Config{
		RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
	}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// StartUnix runs a private server that listens on a Unix socket as well, and
// returns the socket's path.
func StartUnix(t testing.TB, args ...string) (s *Server, path string) {
	t.Helper()
	// The paths of t.TempDir may be longer than an address of a socket may be.
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path = filepath.Join(dir, "redis.sock")
	return Start(t, append([]string{"--unixsocket", path, "--unixsocketperm", "700"}, args...)...), path
}

// StartUser runs a private server with an ACL user beside the default one. Rules
// are words of an ACL, such as "~app:*" and "+@all".
func StartUser(t testing.TB, name, password string, rules ...string) *Server {
	t.Helper()
	return Start(t, append([]string{"--user", name, "on", ">" + password}, rules...)...)
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	der  []byte
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	a.cert = template("test authority")
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	var err error
	if a.der, err = x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key); err != nil {
		t.Fatalf("redistest: certificate: %v", err)
	}
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("redistest: certificate: %v", err)
	}
	return key
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

func (a *authority) write(t testing.TB, file string) {
	t.Helper()
	writePEM(t, file, "CERTIFICATE", a.der)
}

// issue makes a certificate that serves both sides.
func (a *authority) issue(t testing.TB, certFile, keyFile string) {
	t.Helper()
	key, cert := newKey(t), template(ServerName)
	cert.DNSNames, cert.IPAddresses = []string{ServerName}, []net.IP{net.IPv4(127, 0, 0, 1)}
	cert.KeyUsage = x509.KeyUsageDigitalSignature
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatalf("redistest: certificate: %v", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatalf("redistest: certificate: %v", err)
	}
	writePEM(t, certFile, "CERTIFICATE", der)
	writePEM(t, keyFile, "PRIVATE KEY", private)
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatalf("redistest: certificate: %v", err)
	}
}
