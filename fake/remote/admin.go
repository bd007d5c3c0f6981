package remote

import (
	"context"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/dataplane"
)

// State is what a server tells of itself.
type State struct {
	Calls    map[string]int     `json:"calls"`   // to the cloud's API since it started, by name as CreateRule
	Objects  map[string]int     `json:"objects"` // that the cloud holds, by kind
	Bound    []Bound            `json:"bound"`
	Broken   string             `json:"broken,omitzero"` // what could not be served when the data plane was last programmed
	Counters dataplane.Counters `json:"counters"`
}

// State is what the server holds and did.
func (s *Server) State() State {
	out := State{Calls: s.local.Cloud.Calls(), Objects: map[string]int{}, Bound: s.Bound(), Counters: s.local.Counters()}
	for _, o := range s.local.Cloud.Dump() {
		out.Objects[o.Kind]++
	}
	if err := s.local.Broken(); err != nil {
		out.Broken = err.Error()
	}
	return out
}

// addAdmin answers what no cloud would: how it is inside.
func (s *Server) addAdmin(h *handler) {
	answer(h, pathState, func(context.Context, nothing) (State, error) { return s.State(), nil })
	answer(h, pathProgram, func(ctx context.Context, _ nothing) (nothing, error) {
		if err := s.local.Program(ctx); err != nil {
			return nothing{}, refuse(cloud.ServiceDown, "not everything can be served: %w", err)
		}
		return nothing{}, nil
	})
	answer(h, pathFaults, func(_ context.Context, list []Fault) (nothing, error) {
		if !s.config.Faults {
			return nothing{}, refuse(cloud.AccessDenied, "this cloud was started without --faults, and spoils no calls")
		}
		return nothing{}, s.faults.set(list)
	})
}

// Admin is a client of what a server tells of itself, and of its faults. It is for
// tests and for people who look.
type Admin struct{ client *client }

// OpenAdmin makes an Admin. The Keyring is not used.
func OpenAdmin(c Config) (*Admin, error) {
	client, err := newClient(c)
	return &Admin{client}, err
}

// Close gives the connections back.
func (a *Admin) Close() { a.client.http.CloseIdleConnections() }

// State reads the server's.
func (a *Admin) State(ctx context.Context) (State, error) {
	return call[State](ctx, a.client, pathState, nothing{})
}

// Program returns when everything that the cloud holds now is served.
func (a *Admin) Program(ctx context.Context) error {
	_, err := call[nothing](ctx, a.client, pathProgram, nothing{})
	return err
}

// Spoil makes calls go wrong from now on, instead of what was told before; without
// a Fault everything works again. Calls that hang already go on hanging.
func (a *Admin) Spoil(ctx context.Context, list ...Fault) error {
	_, err := call[nothing](ctx, a.client, pathFaults, append([]Fault{}, list...))
	return err
}
