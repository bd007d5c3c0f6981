package spiffeca

import (
	"context"

	"github.com/spiffe/go-spiffe/v2/workloadapi"

	"gatehouse.dev/lbmodel"
)

// Watch tells of the certificates that the agent has for this process, by SPIFFE ID, at
// first and whenever one is another, until ctx ends. It keeps one stream open. As long
// as the agent cannot be asked nothing is told: what was told last holds. An address
// that is none tells nothing at all; Hold says what is wrong with it.
//
// The API sends the keys along; they are dropped here.
func (a *Agent) Watch(ctx context.Context, tell func(map[string]lbmodel.Held)) {
	if a.address == "" {
		return
	}
	_ = workloadapi.WatchX509Context(ctx, watcher{tell}, workloadapi.WithAddr(a.address)) // ends with ctx, or is Hold's to tell
}

type watcher struct {
	tell func(map[string]lbmodel.Held)
}

// OnX509ContextUpdate implements workloadapi.X509ContextWatcher. Of several of one ID
// Hold takes the first, too.
func (w watcher) OnX509ContextUpdate(c *workloadapi.X509Context) {
	out := map[string]lbmodel.Held{}
	for _, svid := range c.SVIDs {
		id := svid.ID.String()
		if _, is := out[id]; !is {
			out[id] = lbmodel.Held{Authority: lbmodel.AuthorityOf(svid.Certificates), NotBefore: svid.Certificates[0].NotBefore}
		}
	}
	w.tell(out)
}

// OnX509ContextWatchError implements workloadapi.X509ContextWatcher.
func (watcher) OnX509ContextWatchError(error) {}
