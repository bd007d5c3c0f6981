package ca

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Config says what a CA is like. The zero value is a CA with one root, "a".
type Config struct {
	Name     string           // in the subjects of its roots; "" is "mesh"
	Root     string           // the name of the first root; "" is "a"
	RootLife time.Duration    // zero is ten years
	RootKey  KeyType          // of all roots that ask for no other
	Backdate time.Duration    // how long before now everything is valid; zero is two minutes, as Istio
	Now      func() time.Time // nil is time.Now
}

// CA is the certificate authority of a mesh. It may be used by many goroutines.
type CA struct {
	config Config

	mu      sync.Mutex
	roots   []*root
	signer  *root
	changed chan struct{}
}

// Root is a root to be added.
type Root struct {
	Name string
	Life time.Duration // zero is Config.RootLife
	Key  KeyType       // "" is Config.RootKey
}

// root is one root of the bundle, and the intermediate that signs for it, if it
// has one.
type root struct {
	Root
	signing      credential
	intermediate *credential
	copies       int // how often the bundle has it
}

// New makes a CA with one root, which signs.
func New(c Config) (*CA, error) {
	if c.Name == "" {
		c.Name = "mesh"
	}
	if c.Root == "" {
		c.Root = "a"
	}
	if c.RootLife == 0 {
		c.RootLife = 10 * 365 * 24 * time.Hour
	}
	if c.Backdate == 0 {
		c.Backdate = 2 * time.Minute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	ca := &CA{config: c, changed: make(chan struct{})}
	if err := ca.Add(Root{Name: c.Root}); err != nil {
		return nil, err
	}
	return ca, ca.SignBy(c.Root)
}

// errNoRoot is a root that the bundle does not have.
var errNoRoot = errors.New("the bundle has no such root")

func (ca *CA) find(name string) (*root, error) {
	i := slices.IndexFunc(ca.roots, func(r *root) bool { return r.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: %q", errNoRoot, name)
	}
	return ca.roots[i], nil
}

// edit changes the bundle and tells whoever watches.
func (ca *CA) edit(change func() error) error {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	if err := change(); err != nil {
		return err
	}
	close(ca.changed)
	ca.changed = make(chan struct{})
	return nil
}

// Add puts a new root at the end of the bundle. It does not sign yet.
func (ca *CA) Add(r Root) error {
	return ca.edit(func() error {
		if _, err := ca.find(r.Name); err == nil {
			return fmt.Errorf("the bundle has a root %q", r.Name)
		}
		if r.Life == 0 {
			r.Life = ca.config.RootLife
		}
		if r.Key == "" {
			r.Key = ca.config.RootKey
		}
		made, err := ca.selfSigned(r)
		if err != nil {
			return err
		}
		ca.roots = append(ca.roots, &root{Root: r, signing: made, copies: 1})
		return nil
	})
}

// SignBy has a root of the bundle sign from now on.
func (ca *CA) SignBy(name string) error {
	return ca.edit(func() (err error) {
		signer, err := ca.find(name)
		if err == nil {
			ca.signer = signer
		}
		return err
	})
}

// Drop takes a root out of the bundle. It may go on signing: that is a mistake
// that CAs make.
func (ca *CA) Drop(name string) error {
	return ca.edit(func() error {
		gone, err := ca.find(name)
		if err != nil {
			return err
		}
		ca.roots = slices.DeleteFunc(ca.roots, func(r *root) bool { return r == gone })
		return nil
	})
}

// Resign replaces a root by one with the same key and subject and a new life, as
// Istio's self-signed CA does: its leaves verify under both.
func (ca *CA) Resign(name string) error {
	return ca.edit(func() error {
		r, err := ca.find(name)
		if err != nil {
			return err
		}
		again, err := ca.rootCert(r.Root, r.signing.key)
		if err == nil {
			r.signing.cert = again
		}
		return err
	})
}

// Intermediate makes a new intermediate beneath a root, which signs in the root's
// place. A life of zero is the root's own.
func (ca *CA) Intermediate(of string, life time.Duration) error {
	return ca.edit(func() error {
		r, err := ca.find(of)
		if err != nil {
			return err
		}
		made, err := ca.beneath(r, life)
		if err == nil {
			r.intermediate = &made
		}
		return err
	})
}

// Repeat has the bundle list a root once more, as operators do on the way from one
// root to the next (istio #30947).
func (ca *CA) Repeat(name string) error {
	return ca.edit(func() error {
		r, err := ca.find(name)
		if err == nil {
			r.copies++
		}
		return err
	})
}

// Roots is the bundle.
func (ca *CA) Roots() []*x509.Certificate {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	var all []*x509.Certificate
	for _, r := range ca.roots {
		all = append(all, slices.Repeat([]*x509.Certificate{r.signing.cert}, r.copies)...)
	}
	return all
}

// Root is one root of the bundle; nil when it has none of that name.
func (ca *CA) Root(name string) *x509.Certificate {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	r, err := ca.find(name)
	if err != nil {
		return nil
	}
	return r.signing.cert
}

// Signer is the certificate whose key signs leaves: of a root or an intermediate.
func (ca *CA) Signer() *x509.Certificate {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	return ca.signer.issuer().cert
}

// SigningRoot is the root under which leaves are signed.
func (ca *CA) SigningRoot() *x509.Certificate {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	return ca.signer.signing.cert
}

// Bundle is Roots in PEM.
func (ca *CA) Bundle() []byte { return PEM(ca.Roots()...) }

// Changed is closed at the next change of the bundle or of who signs.
func (ca *CA) Changed() <-chan struct{} {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	return ca.changed
}

// Now is the time by the CA's clock.
func (ca *CA) Now() time.Time { return ca.config.Now() }

// PEM writes certificates one after the other.
func PEM(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// Pool is certificates as a pool.
func Pool(certs ...*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool
}
