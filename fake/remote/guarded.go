package remote

import (
	"context"
	"encoding/json/v2"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// guarded is the cloud's API with what this process adds to it: keys that outlive
// it, and addresses from this machine's prefixes only.
type guarded struct {
	cloud.API
	shelf *shelf
	pool  []netip.Prefix // none is any
	log   *slog.Logger
}

// Create implements cloud.Writer.
func (g *guarded) Create(ctx context.Context, r cloud.CreateRequest) (cloud.Object, error) {
	if r.Kind == cloud.KindAddress {
		if err := g.admit(r.Body); err != nil {
			return cloud.Object{}, err
		}
	}
	if r.Key == nil {
		return g.API.Create(ctx, r)
	}
	done, err := g.shelf.bring(r.Key)
	if err != nil {
		return cloud.Object{}, err
	}
	defer func() { g.note(done()) }()
	return g.API.Create(ctx, r)
}

// Update implements cloud.Writer.
func (g *guarded) Update(ctx context.Context, r cloud.UpdateRequest) (cloud.Object, error) {
	if r.Key == nil {
		return g.API.Update(ctx, r)
	}
	done, err := g.shelf.bring(r.Key)
	if err != nil {
		return cloud.Object{}, err
	}
	defer func() { g.note(done()) }()
	return g.API.Update(ctx, r)
}

// Delete implements cloud.Writer.
func (g *guarded) Delete(ctx context.Context, h lbmodel.Handle) error {
	err := g.API.Delete(ctx, h)
	if strings.Contains(string(h), "/"+cloud.KindCertificate+"/") {
		g.note(g.shelf.sweep())
	}
	return err
}

// note tells of a key that could not be removed: no call failed, and the next
// sweep tries again.
func (g *guarded) note(err error) {
	if err != nil {
		g.log.Warn("a key that nobody needs could not be removed", "err", err)
	}
}

// admit refuses an address from elsewhere than the pool: whoever may choose a
// gateway's prefixes may so not choose the addresses that this machine has for other
// things. A body that cannot be read is the cloud's to refuse.
func (g *guarded) admit(raw []byte) error {
	var body cloud.Address
	if len(g.pool) == 0 || json.Unmarshal(raw, &body) != nil {
		return nil
	}
	for i, text := range body.Prefixes {
		p, err := netip.ParsePrefix(text)
		if err == nil && !slices.ContainsFunc(g.pool, func(q netip.Prefix) bool { return q.Bits() <= p.Bits() && q.Contains(p.Addr()) }) {
			return refuse(cloud.InvalidArgument, "prefixes[%d] is %s, and this cloud has addresses of %v only: "+
				"set addressPool to some of them in the GatewayParameters of the class (for Services: those of the manager's services.parameters)", i, text, g.pool)
		}
	}
	return nil
}
