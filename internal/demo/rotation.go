package demo

import (
	"context"
	"fmt"
	"time"

	"gatehouse.dev/fake/dataplane"
)

// target is what the load asks for: the route into the mesh.
const target = "https://" + site + "/checkout/cart"

// rotate changes the mesh's CA twice while the load goes on. Each time in the
// order that loses nothing: trust the new root, then issue under it, then drop
// the old root.
func (d *demo) rotate(ctx context.Context) error {
	load := newLoad(d.visitor.client)
	loading, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); load.run(loading, target) }()
	err := d.stages(ctx, load)
	stop()
	<-done
	d.report.Rotation.loadReport = load.report()
	d.report.Rotation.Handshakes = d.handshakes()
	return err
}

func (d *demo) stages(ctx context.Context, load *load) error {
	if err := d.stage(ctx, load, "steady, before", nil); err != nil {
		return err
	}
	for n := 2; n <= 3; n++ {
		old := d.mesh
		next, err := newAuthority(fmt.Sprintf("mesh CA %d", n), day)
		if err != nil {
			return err
		}
		d.authorities = append(d.authorities, next)
		both := []*authority{old, next}
		for _, s := range []struct {
			name   string
			issuer *authority
			roots  []*authority
		}{
			{fmt.Sprintf("add root %d beside %d", n, n-1), old, both},
			{fmt.Sprintf("new leaves and client certificate, from %d", n), next, both},
			{fmt.Sprintf("drop root %d", n-1), next, []*authority{next}},
		} {
			if err := d.stage(ctx, load, s.name, func() error { return d.meshIs(s.issuer, s.roots) }); err != nil {
				return err
			}
		}
		d.mesh = next
	}
	return nil
}

// stage makes one change, applies it, and lets the load go on for a while.
func (d *demo) stage(ctx context.Context, load *load, name string, change func() error) error {
	before := load.report()
	stage := Stage{Name: name}
	if change != nil {
		if err := change(); err != nil {
			return err
		}
		keys, err := d.stack.Reload(ctx)
		if err != nil {
			return err
		}
		plan, err := d.pass(ctx, keys)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		stage.Changes = len(plan.Steps)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d.config.Breath):
	}
	after := load.report()
	stage.Requests, stage.Failed = after.Requests-before.Requests, after.Failed-before.Failed
	d.report.Rotation.Stages = append(d.report.Rotation.Stages, stage)
	d.printStage(stage)
	return nil
}

// meshIs gives the sidecars a leaf of issuer and these roots, and writes what the
// mesh would publish: its roots, and the gateway's own certificate.
func (d *demo) meshIs(issuer *authority, roots []*authority) error {
	cart, err := issuer.issue(cartID)
	if err != nil {
		return err
	}
	d.backends.mesh.set(cart, roots...)
	if d.material.edge == nil || d.edgeIssuer != issuer {
		if d.material.edge, err = issuer.issue(edgeID); err != nil {
			return err
		}
		d.edgeIssuer = issuer
	}
	d.material.roots = roots
	text, err := d.material.yaml()
	if err != nil {
		return err
	}
	return d.files.write(certificatesFile, text)
}

// handshakes names the roots that both sides of the mesh hop were verified by.
func (d *demo) handshakes() Handshakes {
	names := map[string]string{}
	for _, a := range d.authorities {
		names[a.fingerprint()] = a.name
	}
	return Handshakes{Gateway: d.backends.mesh.handshakes.snapshot(), Backend: byRoot(d.stack.Local.Counters(), names)}
}

func byRoot(c dataplane.Counters, names map[string]string) map[string]int {
	out := map[string]int{}
	for _, h := range c.Handshakes {
		name, ok := names[h.Root]
		if !ok {
			name = "unknown root " + h.Root
		}
		out[name] += int(h.Count)
	}
	return out
}
