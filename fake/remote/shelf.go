package remote

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// shelf keeps the keys of the cloud's certificates, one file a leaf (its SHA-256),
// mode 0600 in a directory 0700: what a cloud's own vault is, so that a restart asks
// nobody for a key. The cloud's journal has none.
//
// A key is on the disk before the call that brings it reaches the cloud, and goes
// once no certificate has its leaf and no call brings it.
type shelf struct {
	dir  string
	held func() map[string]bool // the leaves of the cloud's certificates

	mu     sync.Mutex
	coming map[string]int // leaves of calls under way
}

func openShelf(dir string) (*shelf, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of keys: %w", err)
	}
	return &shelf{dir: dir, coming: map[string]int{}}, nil
}

// leavesOf are the leaves of a cloud's certificates.
func leavesOf(c *cloud.Cloud) map[string]bool {
	out := map[string]bool{}
	for _, o := range c.Dump() {
		if o.Leaf != nil {
			out[o.Leaf.SHA256] = true
		}
	}
	return out
}

// read is a providers.Keyring of the keys that are here. It never issues.
func (s *shelf) read(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	if id.Leaf == nil {
		return tls.Certificate{}, errors.New("the cloud issues no certificate")
	}
	text, err := os.ReadFile(s.path(id.Leaf.SHA256))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("key of leaf %s: %w", id.Leaf.SHA256, err)
	}
	var stored secret
	if err := json.Unmarshal(text, &stored); err != nil {
		return tls.Certificate{}, fmt.Errorf("key of leaf %s: its file is damaged: renew the certificate, or delete its gateway and apply it again", id.Leaf.SHA256)
	}
	pair, err := stored.pair()
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("key of leaf %s: %w", id.Leaf.SHA256, err)
	}
	return *pair, nil
}

// bring keeps a key for as long as a call is under way, and returns what ends that.
func (s *shelf) bring(pair *tls.Certificate) (done func() error, err error) {
	stored, err := secretOf(pair)
	if err != nil || len(stored.Chain) == 0 {
		return nil, refuse(cloud.InvalidArgument, "the certificate is empty, or its key is of no known kind")
	}
	sum := sha256.Sum256(stored.Chain[0])
	leaf := hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.store(leaf, encode(stored)); err != nil {
		return nil, refuse(cloud.ServiceDown, "the key of leaf %s cannot be kept: %w", leaf, err)
	}
	s.coming[leaf]++
	return func() error {
		s.mu.Lock()
		s.coming[leaf]--
		if s.coming[leaf] == 0 {
			delete(s.coming, leaf)
		}
		s.mu.Unlock()
		return s.sweep()
	}, nil
}

func (s *shelf) store(leaf string, text []byte) error {
	f, err := os.CreateTemp(s.dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path(leaf))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return s.settle()
}

// settle makes renames last.
func (s *shelf) settle() error {
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (s *shelf) path(leaf string) string { return filepath.Join(s.dir, leaf+".json") }

// sweep removes the keys that nothing has and nothing brings, and what a killed
// process has left half written.
func (s *shelf) sweep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := s.held()
	for leaf := range maps.Keys(s.coming) {
		keep[leaf] = true
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("directory of keys: %w", err)
	}
	files = slices.DeleteFunc(files, func(f fs.DirEntry) bool { return keep[strings.TrimSuffix(f.Name(), ".json")] })
	var errs []error
	for _, f := range files {
		errs = append(errs, os.Remove(filepath.Join(s.dir, f.Name())))
	}
	return errors.Join(errs...)
}
