package issue

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json/v2"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// TestSilent: no form of a key is in any error, in what an issuer is shown, or in
// what is held when it is printed.
func TestSilent(t *testing.T) {
	w := newWorld(t)
	closed := func(string, lbmodel.Root, time.Time) (bool, string, time.Time) {
		return false, "nobody trusts it", time.Time{}
	}
	w.start(closed)
	var said bytes.Buffer
	try := func(id lbmodel.Identity) {
		_, err := w.ring.pair(t.Context(), id)
		fmt.Fprintf(&said, "%v\n%+v\n%#v\n", err, err, err)
	}
	id := identity("g")
	w.use(id, w.get(id))
	w.do(w.ca.Drop("a"))
	try(id) // unresolved
	w.do(w.ca.Add(ca.Root{Name: "b"}))
	try(id) // a stranger signed
	w.do(w.ca.SignBy("b"))
	try(id) // the gate
	other := id
	other.SPIFFEID += "2"
	for _, err := range []error{errors.New("no"), lbmodel.Errorf(lbmodel.CodePending, "", lbmodel.ID{}, "later")} {
		w.answer = func(context.Context, meshsync.Request) (meshsync.Issued, error) { return meshsync.Issued{}, err }
		try(other)
	}
	for _, r := range w.asked {
		fmt.Fprintf(&said, "%+v %s", r, r.CSR)
	}
	for _, e := range w.ring.held.entries {
		if e.candidate == nil {
			continue
		}
		fmt.Fprintf(&said, "%v %+v %#v %s %x", e.candidate, e.candidate, e.candidate, e.candidate, e.candidate)
		slog.New(slog.NewTextHandler(&said, nil)).Info("held", "candidate", e.candidate)
		text, err := json.Marshal(e.candidate)
		w.do(err)
		said.Write(text)
	}
	if len(w.keys) < 4 || said.Len() < 1000 || !strings.Contains(said.String(), "redacted") {
		t.Fatalf("%d keys, %d bytes were said: nothing was tried", len(w.keys), said.Len())
	}
	for _, key := range w.keys {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		w.do(err)
		scalar, err := key.Bytes()
		w.do(err)
		text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE" + " KEY", Bytes: der}))
		for _, form := range []string{text, strings.Split(text, "\n")[1], string(der), string(scalar), hex.EncodeToString(scalar),
			base64.StdEncoding.EncodeToString(scalar), new(big.Int).SetBytes(scalar).String()} {
			if strings.Contains(said.String(), form) {
				t.Errorf("a key was said, as %.20q…", form)
			}
		}
	}
}
