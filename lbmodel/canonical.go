package lbmodel

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// EncodeJSON is the gateway's canonical form as JSON: equal gateways give equal
// bytes, and DecodeJSON gives the canonical gateway back. A text that holds a
// private key in PEM is refused, wherever it stands.
func EncodeJSON(g Gateway) ([]byte, error) {
	out, err := json.Marshal(g.Canonical(), json.Deterministic(true),
		json.FormatNilSliceAsNull(true), // a pool's endpoints: unknown is not none
		jsontext.ReorderRawObjects(true))
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", g.Owner, err)
	}
	if err := refusePrivateKeys(out); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", g.Owner, err)
	}
	return out, nil
}

// DecodeJSON reads what EncodeJSON wrote. Unknown and repeated members are
// errors.
func DecodeJSON(text []byte) (Gateway, error) {
	var g Gateway
	if err := json.Unmarshal(text, &g, json.RejectUnknownMembers(true)); err != nil {
		return Gateway{}, fmt.Errorf("decoding a gateway: %w", err)
	}
	return g, nil
}

// refusePrivateKeys looks into every text of a JSON value; the error says where.
func refusePrivateKeys(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if token.Kind() == '"' && holdsPrivateKey(token.String()) {
			at := decoder.StackPointer()
			if holdsPrivateKey(string(at)) { // the name of a member
				at = at.Parent()
			}
			return fmt.Errorf("%s holds a private key, which has no place in a gateway's description", at)
		}
	}
}

// holdsPrivateKey finds the head of any PEM private key: PKCS #1, PKCS #8
// (encrypted or not), SEC 1, OpenSSH.
func holdsPrivateKey(text string) bool {
	for {
		_, rest, ok := strings.Cut(text, pemBegin)
		if !ok {
			return false
		}
		kind, _, _ := strings.Cut(rest, "-----")
		if strings.HasSuffix(kind, "PRIVATE KEY") {
			return true
		}
		text = rest
	}
}

// Canonical is the gateway with its lists in the order that Gateway documents.
// Orders that mean something stay: rules, certificates, addresses. The argument
// is not changed.
func (g Gateway) Canonical() Gateway {
	g.Listeners = sortedBy(g.Listeners, func(a, b Listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Name, b.Name))
	})
	for i := range g.Listeners {
		g.Listeners[i].SourceRanges = slices.Compact(sortedBy(g.Listeners[i].SourceRanges, strings.Compare))
	}
	g.Pools = sortedBy(g.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	for i := range g.Pools {
		g.Pools[i] = g.Pools[i].canonical()
	}
	g.Trust = sortedBy(g.Trust, func(a, b Trust) int { return cmp.Compare(a.Name, b.Name) })
	for i := range g.Trust {
		g.Trust[i].Roots = canonicalRoots(g.Trust[i].Roots)
		g.Trust[i].Seen = slices.Compact(sortedBy(g.Trust[i].Seen, strings.Compare))
	}
	g.Identities = sortedBy(g.Identities, func(a, b Identity) int { return cmp.Compare(a.Name, b.Name) })
	for i := range g.Identities {
		g.Identities[i].Leaf = g.Identities[i].Leaf.canonical()
		renew := &g.Identities[i].Renew
		renew.Authorities = slices.Compact(sortedBy(renew.Authorities, strings.Compare))
		if h := renew.Held; h != nil {
			renew.Held = &Held{h.Authority, h.NotBefore.UTC()}
		}
	}
	g.Later = sortedBy(g.Later, compareWaits)
	for i := range g.Later {
		g.Later[i].Until = g.Later[i].Until.UTC()
	}
	return g
}

func sortedBy[T any](list []T, compare func(a, b T) int) []T {
	list = slices.Clone(list)
	slices.SortStableFunc(list, compare)
	return list
}

func (p Pool) canonical() Pool {
	p.Endpoints = sortedBy(p.Endpoints, CompareEndpoints)
	if p.TLS != nil {
		tls := *p.TLS
		tls.SANs = sortedBy(tls.SANs, func(a, b SAN) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value))
		})
		p.TLS = &tls
	}
	return p
}

// CompareEndpoints is the canonical order of a pool's endpoints.
func CompareEndpoints(a, b Endpoint) int {
	return cmp.Or(
		cmp.Compare(a.Address, b.Address),
		cmp.Compare(a.FQDN, b.FQDN),
		cmp.Compare(a.Port, b.Port),
		cmp.Compare(a.Pod.String(), b.Pod.String()),
	)
}

func canonicalRoots(roots []Root) []Root {
	roots = sortRoots(slices.Clone(roots))
	for i := range roots {
		roots[i].NotAfter, roots[i].Dropped = roots[i].NotAfter.UTC(), roots[i].Dropped.UTC()
	}
	return roots
}

func (l *Leaf) canonical() *Leaf {
	if l == nil {
		return nil
	}
	out := *l
	out.NotBefore, out.NotAfter = l.NotBefore.UTC(), l.NotAfter.UTC()
	return &out
}

func compareWaits(a, b Wait) int {
	return cmp.Or(a.ID.Compare(b.ID), a.Until.Compare(b.Until), cmp.Compare(a.Why, b.Why))
}
