package manifest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/keypair"
	"gatehouse.dev/lbmodel"
)

// Keys are the key pairs of the Secrets that were read. Nothing prints them:
// every way to show the value shows their number, and the pairs are held by a
// function, where reflection cannot reach.
type Keys struct {
	count  int
	lookup func(types.NamespacedName) (tls.Certificate, bool)
}

func newKeys(pairs map[types.NamespacedName]tls.Certificate) *Keys {
	return &Keys{
		count: len(pairs),
		lookup: func(name types.NamespacedName) (tls.Certificate, bool) {
			pair, ok := pairs[name]
			return pair, ok
		},
	}
}

// Keeping is these keys with pairs of older ones, for Secrets whose last good
// version counts. A pair that these have is not replaced.
func (k *Keys) Keeping(old *Keys, secrets []types.NamespacedName) *Keys {
	kept := map[types.NamespacedName]tls.Certificate{}
	for _, name := range secrets {
		if _, ok := k.lookup(name); !ok && old != nil {
			if pair, ok := old.lookup(name); ok {
				kept[name] = pair
			}
		}
	}
	return &Keys{count: k.count + len(kept), lookup: func(name types.NamespacedName) (tls.Certificate, bool) {
		if pair, ok := k.lookup(name); ok {
			return pair, ok
		}
		pair, ok := kept[name]
		return pair, ok
	}}
}

// Keyring returns what Apply asks for keys. It answers identities that somebody
// keeps in a Secret (Issuer Secret), whose Source is that Secret. A pair that is
// not the one which the identity describes any more is a conflict: the plan was
// made from other files.
func (k *Keys) Keyring() func(context.Context, lbmodel.Identity) (tls.Certificate, error) {
	return func(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
		return k.pair(id)
	}
}

func (k *Keys) pair(id lbmodel.Identity) (tls.Certificate, error) {
	about := lbmodel.ID{Kind: "Identity", Name: id.Name}
	if id.Issuer != lbmodel.IssuerSecret {
		return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeUnsupported, "keyring", about,
			"files hold keys of Secrets only; nobody is here to issue for %s", quoted(id.Issuer))
	}
	pair, ok := k.lookup(types.NamespacedName{Namespace: id.Source.Namespace, Name: id.Source.Name})
	if !ok {
		return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeUnresolved, "keyring", about,
			"no file has a usable key pair in %s", id.Source)
	}
	return keypair.For(pair, id)
}

// String tells how many there are.
func (k Keys) String() string { return fmt.Sprintf("Keys(%d, redacted)", k.count) }

// GoString is String, so that %#v shows no more.
func (k Keys) GoString() string { return k.String() }

// Format is String under every verb.
func (k Keys) Format(f fmt.State, _ rune) { io.WriteString(f, k.String()) } //nolint:errcheck // fmt collects the output

// LogValue is String, for structured logs.
func (k Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON is String, as a JSON text.
func (k Keys) MarshalJSON() ([]byte, error) { return json.Marshal(k.String()) }

// MarshalText is String, for every encoder that asks.
func (k Keys) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
