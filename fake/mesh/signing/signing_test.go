package signing

import (
	"context"
	"errors"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
)

// TestBreak: a fault lasts for as many calls as it is told to, or until it is mended.
func TestBreak(t *testing.T) {
	d := &Desk{}
	gate := func(want Fault, wantErr error) {
		t.Helper()
		if f, err := d.Gate(t.Context()); f != want || !errors.Is(err, wantErr) {
			t.Errorf("%q, %v, want %q, %v", f, err, want, wantErr)
		}
	}
	gate("", nil)
	d.Break(WrongKey, 2)
	gate(WrongKey, nil)
	gate(WrongKey, nil)
	gate("", nil)
	d.Break(Refuse, 0)
	gate(Refuse, ErrRefused)
	gate(Refuse, ErrRefused)
	d.Mend()
	gate("", nil)
	d.Break(Unavailable, 1)
	gate(Unavailable, ErrUnavailable)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.Break(Hang, 1)
	if _, err := d.Gate(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Hang: %v", err)
	}
}

// TestServing: the certificate stays until the CA changes or its life is over.
func TestServing(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	m, err := ca.New(ca.Config{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	s := &Serving{CA: m, Request: ca.Request{DNSNames: []string{"a.example"}}}
	serial := func() string {
		t.Helper()
		c, err := s.Certificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.SerialNumber.String()
	}
	first := serial()
	if serial() != first {
		t.Error("a new certificate for nothing")
	}
	now = now.Add(31 * 24 * time.Hour)
	second := serial()
	if second == first {
		t.Error("the certificate outlives itself")
	}
	if err := m.Add(ca.Root{Name: "b"}); err != nil {
		t.Fatal(err)
	}
	if serial() == second {
		t.Error("the certificate is not of the CA as it is now")
	}
}

// TestCallsAreBounded: a server that runs for long keeps the newest.
func TestCallsAreBounded(t *testing.T) {
	m, err := ca.New(ca.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d := &Desk{CA: m}
	for i := range maxCalls + 3 {
		d.Note(Call{Life: time.Duration(i)})
	}
	if calls := d.Calls(); len(calls) != maxCalls || calls[0].Life != 3 {
		t.Errorf("%d calls, the oldest is number %d", len(calls), calls[0].Life)
	}
}
