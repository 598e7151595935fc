package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Certificates are PEM files made for one set of servers.
type Certificates struct {
	// CA, Cert and Key are the authority, and a client's certificate and key.
	CA, Cert, Key string
	// Other is the file of an authority that has signed none of these certificates.
	Other string

	server, serverKey string
}

// ServerName is the name in the certificates, beside 127.0.0.1.
const ServerName = "redis.test"

// newCertificates writes them into dir.
func newCertificates(dir string) (*Certificates, error) {
	file := func(name string) string { return filepath.Join(dir, name) }
	c := &Certificates{
		CA: file("ca.pem"), Cert: file("client.pem"), Key: file("client.key"), Other: file("other.pem"),
		server: file("server.pem"), serverKey: file("server.key"),
	}
	ca, err := newAuthority(c.CA)
	if err == nil {
		_, err = newAuthority(c.Other)
	}
	if err == nil {
		err = ca.issue(c.server, c.serverKey)
	}
	if err == nil {
		err = ca.issue(c.Cert, c.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return c, nil
}

// args returns the arguments with which a server on addr speaks only TLS, to clients,
// replicas and the other nodes of a cluster, and requires a certificate of each. Without
// certificates there are no arguments.
func (c *Certificates) args(addr string) []string {
	if c == nil {
		return nil
	}
	return []string{
		"--port", "0", "--tls-port", port(addr), "--tls-replication", "yes", "--tls-cluster", "yes",
		"--tls-cert-file", c.server, "--tls-key-file", c.serverKey, "--tls-ca-cert-file", c.CA,
	}
}

// config returns the TLS configuration of a client; nil without certificates, which means no TLS.
func (c *Certificates) config() (*tls.Config, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // go-redis then uses no TLS
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// Config returns the TLS configuration with which a client reaches the servers.
func (c *Certificates) Config(t testing.TB) *tls.Config {
	t.Helper()
	conf, err := c.config()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return conf
}

// NewCertificates makes certificates for a server that is not a Redis.
func NewCertificates(t testing.TB) *Certificates {
	t.Helper()
	c, err := newCertificates(t.TempDir())
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return c
}

// Server returns the TLS configuration of such a server.
func (c *Certificates) Server(t testing.TB) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(c.server, c.serverKey)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}

// scheme is redis or rediss, followed by what comes after it.
func (c *Certificates) scheme(rest string) string {
	if c == nil {
		return "redis" + rest
	}
	return "rediss" + rest
}

// TLSServer is a server that speaks TLS only and asks every client for a
// certificate of the same authority.
type TLSServer struct {
	*Server
	*Certificates
}

// StartTLS runs a private server with certificates made for this test. Args are
// appended to the command line: "--tls-auth-clients", "no" takes clients
// without a certificate.
func StartTLS(t testing.TB, args ...string) *TLSServer {
	t.Helper()
	certs := NewCertificates(t)
	s := &Server{t: t, dir: t.TempDir()}
	p, err := onFreePort(func(addr string) (*process, error) {
		s.args = append(certs.args(addr), args...)
		return launch(addr, s.dir, s.args)
	})
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s.run, s.addr = p, p.addr
	t.Cleanup(s.Stop)
	return &TLSServer{s, certs}
}

// URL is the server's rediss:// address.
func (s *TLSServer) URL() string { return "rediss://" + s.addr }

// Client returns a plain client with the client's certificate, closed with the test.
func (s *TLSServer) Client(t testing.TB) *redis.Client {
	t.Helper()
	return clientOf(t, &redis.Options{Addr: s.addr, TLSConfig: s.Config(t)})
}

// StartUnix runs a private server that listens on a Unix socket as well, and
// returns the socket's path.
func StartUnix(t testing.TB, args ...string) (s *Server, path string) {
	t.Helper()
	// The paths of t.TempDir may be longer than an address of a socket may be.
	dir, err := os.MkdirTemp("", "redistest") //nolint:usetesting // see above
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
	key  *ecdsa.PrivateKey
}

// newAuthority makes one, and writes its certificate to a file.
func newAuthority(file string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, cert: template("test authority")}
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	return a, writePEM(file, "CERTIFICATE", der)
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

// issue makes a certificate that serves both sides.
func (a *authority) issue(certFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	cert := template(ServerName)
	cert.DNSNames, cert.IPAddresses = []string{ServerName}, []net.IP{net.IPv4(127, 0, 0, 1)}
	cert.KeyUsage = x509.KeyUsageDigitalSignature
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil {
		return err
	}
	return writePEM(keyFile, "PRIVATE KEY", private)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
