package main

import (
	"context"
	"crypto/tls"
	"log"

	"github.com/spiffe/go-spiffe/v2/workloadapi"
)

// followAgent takes what a SPIFFE agent has for this process, whenever it changes.
func followAgent(ctx context.Context, address string, take func(material)) error {
	return workloadapi.WatchX509Context(ctx, watcher(take), workloadapi.WithAddr(address))
}

// watcher implements workloadapi.X509ContextWatcher.
type watcher func(material)

// OnX509ContextUpdate takes the one certificate that there is.
func (w watcher) OnX509ContextUpdate(c *workloadapi.X509Context) {
	svid := c.DefaultSVID()
	bundle, err := c.Bundles.GetX509BundleForTrustDomain(svid.ID.TrustDomain())
	if err != nil {
		log.Printf("agent: %v", err)
		return
	}
	m := material{leaf: tls.Certificate{PrivateKey: svid.PrivateKey, Leaf: svid.Certificates[0]}, roots: bundle.X509Authorities()}
	for _, cert := range svid.Certificates {
		m.leaf.Certificate = append(m.leaf.Certificate, cert.Raw)
	}
	w(m)
}

// OnX509ContextWatchError is that the agent is not there, or knows us not yet.
func (watcher) OnX509ContextWatchError(err error) { log.Printf("agent: %v", err) }
