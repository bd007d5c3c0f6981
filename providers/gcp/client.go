package gcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/auth"

	"gatehouse.dev/internal/gcpcalls"
	"gatehouse.dev/providers"
)

// Config says whose project a provider works in and how it gets there. What is empty is
// found as Google's own tools find it (see [Load]).
type Config struct {
	Project string // by its ID, such as my-project
	// Endpoint answers for all APIs instead of Google's own, such as
	// http://127.0.0.1:4588. Without TLS it gets no token but that of Credentials.
	Endpoint string

	// ServiceAccount is the e-mail address of one to act as, with the credentials that
	// were found.
	ServiceAccount string
	// QuotaProject is whose rates requests count against; "" is the credentials' own.
	QuotaProject string
	// Credentials are used instead of any that could be found.
	Credentials *auth.Credentials

	HTTP http.RoundTripper // sends one attempt; nil is one of its own

	// Pacer is asked before every attempt of every request, under the names that
	// gcpcalls.Name gives them; nil holds nothing back. [NewPacer] has Google's quotas.
	Pacer providers.Pacer
	// Keyring makes or reads the keys of certificates; nil is for clients that only
	// plan.
	Keyring providers.Keyring
	Now     func() time.Time // nil is time.Now
	// Patience is how long one step waits for an operation before it is Pending; zero is
	// 30 seconds. The real clock counts.
	Patience time.Duration
}

// Provider is the load balancers of one Google Cloud project, in all its locations.
// Requests are tried again by their transport where that is safe, and steps by an Account.
// Of the cloud it remembers only what saves reads.
type Provider struct {
	Compiler
	calls *gcpcalls.Client
	keys  providers.Keyring
	now   func() time.Time

	project string
	config  Config

	memory *memory
	limits limits
}

// New makes a provider of exactly what the configuration says, and looks for nothing
// else: Project, and Credentials or Endpoint, are required. It makes no call.
func New(c Config) (*Provider, error) {
	sent := gcpcalls.Transport{Base: c.HTTP, Sign: c.sign}
	if c.HTTP == nil {
		sent.Base = newTransport()
	}
	if c.Pacer != nil {
		sent.Before = c.Pacer.Wait
		if told, ok := c.Pacer.(throttled); ok {
			sent.Throttled = told.Throttled
		}
	}
	calls, err := gcpcalls.New(context.Background(), gcpcalls.Config{
		HTTP: &http.Client{Transport: gcpcalls.NewTransport(sent)}, Endpoint: c.Endpoint, Patience: c.Patience, Seed: rand.Text(),
	})
	if err != nil {
		return nil, fmt.Errorf("clients of Google Cloud: %w", err)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Provider{calls: calls, keys: c.Keyring, now: c.Now, project: c.Project, config: c, memory: newMemory()}, nil
}

// throttled is a Pacer that wants to know what its estimate was worth.
type throttled interface{ Throttled(op string) }

// Project is whose load balancers the provider's are, by its ID.
func (p *Provider) Project() string { return p.project }
