package spiffeca

import (
	"context"
	"crypto/tls"

	"github.com/spiffe/go-spiffe/v2/workloadapi"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue/rpc"
)

const op = "FetchX509SVID"

// Agent is an issue.Holder. It may be used by many goroutines.
type Agent struct{ address string }

// New makes an Agent with the Workload API at an address, as SPIFFE_ENDPOINT_SOCKET
// has it: unix:///run/spire/agent.sock. It calls nobody yet.
func New(address string) *Agent { return &Agent{address} }

// Issue implements meshsync.Issuer: an agent signs nothing for others' keys.
func (a *Agent) Issue(context.Context, meshsync.Request) (meshsync.Issued, error) {
	return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodeUnsupported, op, lbmodel.ID{}, "a SPIFFE agent makes the keys itself")
}

// Hold implements issue.Holder.
func (a *Agent) Hold(ctx context.Context, r meshsync.Request) (tls.Certificate, error) {
	all, err := workloadapi.FetchX509SVIDs(ctx, workloadapi.WithAddr(a.address))
	if err != nil {
		return tls.Certificate{}, rpc.Error(op, err, "")
	}
	for _, svid := range all {
		if svid.ID.String() != r.Identity.SPIFFEID {
			continue
		}
		out := tls.Certificate{PrivateKey: svid.PrivateKey}
		for _, c := range svid.Certificates {
			out.Certificate = append(out.Certificate, c.Raw)
		}
		return out, nil
	}
	return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeDenied, op, lbmodel.ID{},
		"the agent has %d certificates and none for %s: register an entry for the controller's pod", len(all), r.Identity.SPIFFEID)
}
