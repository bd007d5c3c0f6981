// Package ca is the certificate authority of a mesh: roots that are added, signed
// with, re-signed with the same key, dropped, and leaves that name a SPIFFE ID or
// a DNS name for as long as is asked.
//
//	m, err := ca.New(ca.Config{Root: "a"})
//	leaf, err := m.Issue(ca.Request{URIs: []string{"spiffe://cluster.local/ns/apps/sa/cart"}})
//	err = m.Add(ca.Root{Name: "b"}) // the bundle is a and b, a signs
//	err = m.SignBy("b")             // b signs, both are trusted
//	err = m.Drop("a")               // leaves of a verify no more
//
// It keeps its keys to itself, knows no mesh and serves nothing. Start with [New].
package ca
