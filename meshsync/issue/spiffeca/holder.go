package spiffeca

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
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

// Hold implements issue.Holder. Of all that the agent has for this process only the
// identity's own SPIFFE ID is taken: another would be another gateway's, or ours.
func (a *Agent) Hold(ctx context.Context, r meshsync.Request) (tls.Certificate, error) {
	want := r.Identity.SPIFFEID
	switch {
	case a.address == "":
		return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeInvalid, op, lbmodel.ID{}, "nobody says where the SPIFFE agent is: set identity.socket, or SPIFFE_ENDPOINT_SOCKET")
	case want == "":
		return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeUnsupported, op, lbmodel.ID{},
			"a SPIFFE agent's certificates say SPIFFE IDs, and this mesh knows its members by DNS names (%s): use another issuer", strings.Join(r.Identity.DNSNames, ", "))
	}
	all, err := workloadapi.FetchX509SVIDs(ctx, workloadapi.WithAddr(a.address))
	if err != nil {
		return tls.Certificate{}, a.explain(rpc.Error(op, err, ""), want)
	}
	for _, svid := range all {
		if svid.ID.String() != want {
			continue
		}
		out := tls.Certificate{PrivateKey: svid.PrivateKey}
		for _, c := range svid.Certificates {
			out.Certificate = append(out.Certificate, c.Raw)
		}
		return out, nil
	}
	return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeDenied, op, lbmodel.ID{},
		"the agent has %s for this process, and none for %s: register an entry with that SPIFFE ID for the controller's pod", namesOf(all), want)
}

const mostNames = 3 // that an error tells

func namesOf(all []*x509svid.SVID) string {
	var names []string
	for _, svid := range all[:min(len(all), mostNames)] {
		names = append(names, svid.ID.String())
	}
	if len(all) > mostNames {
		names = append(names, fmt.Sprintf("%d more", len(all)-mostNames))
	}
	return "certificates for " + strings.Join(names, ", ")
}

// explain says what the agent must know of this process.
func (a *Agent) explain(err error, want string) error {
	e, ok := errors.AsType[*lbmodel.Error](err)
	if !ok || e.Code != lbmodel.CodeDenied {
		return err
	}
	return lbmodel.Errorf(e.Code, e.Op, e.ID, "the agent knows no entry for this process: register one with SPIFFE ID %s for the controller's pod: %w", want, e.Err)
}
