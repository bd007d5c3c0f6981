package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatehouse.dev/fake/dataplane"
)

// target is what the load asks for: the route into the mesh.
const target = "https://" + site + "/checkout/cart"

// rotate changes the mesh's CA twice while the load goes on, as Istio's operators
// do: only what the mesh itself publishes is changed, and nothing of the gateway.
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
	if err := d.stage(ctx, load, "steady, before", func() (int, error) { return 0, nil }); err != nil {
		return err
	}
	for n := 2; n <= 3; n++ {
		old, next := rootName(n-1), rootName(n)
		for _, s := range []struct {
			name string
			do   func() (int, error)
		}{
			{fmt.Sprintf("the mesh adds root %d beside %d", n, n-1), func() (int, error) {
				return d.afterwards(ctx, d.mesh.add(next))
			}},
			// The gateway asked for a week, and renews after two thirds of it.
			{fmt.Sprintf("five days later: certificates from %d", n), func() (int, error) {
				d.mesh.clock.pass(5 * day)
				return d.afterwards(ctx, d.mesh.sign(next))
			}},
			{fmt.Sprintf("the mesh drops root %d; a day later it is gone", n-1), func() (int, error) {
				noted, err := d.afterwards(ctx, d.mesh.drop(old))
				if err != nil {
					return noted, err
				}
				d.mesh.clock.pass(day + time.Minute)
				gone, err := d.afterwards(ctx, nil)
				return noted + gone, err
			}},
		} {
			if err := d.stage(ctx, load, s.name, s.do); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage does one thing, and lets the load go on for a while. It is told how many
// changes of the provider that took.
func (d *demo) stage(ctx context.Context, load *load, name string, do func() (int, error)) error {
	before := load.report()
	changes, err := do()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d.config.Breath):
	}
	after := load.report()
	stage := Stage{Name: name, Changes: changes, Requests: after.Requests - before.Requests, Failed: after.Failed - before.Failed}
	d.report.Rotation.Stages = append(d.report.Rotation.Stages, stage)
	d.printStage(stage)
	return nil
}

// afterwards publishes the mesh's roots as they are now, and lets Gatehouse do what
// it thinks best: it is told nothing else.
func (d *demo) afterwards(ctx context.Context, err error) (changes int, _ error) {
	if err := errors.Join(err, d.files.write(rootsFile, d.mesh.yaml())); err != nil {
		return 0, err
	}
	if _, err := d.stack.Reload(ctx); err != nil {
		return 0, err
	}
	plan, err := d.pass(ctx, d.stack.Loop.Index().Gateways())
	return len(plan.Steps), err
}

// handshakes names the roots that both sides of the mesh hop were verified by.
func (d *demo) handshakes() Handshakes {
	return Handshakes{
		Gateway: named(d.mesh.handshakes.snapshot(), d.mesh.names),
		Backend: named(byRoot(d.stack.Local.Counters()), d.mesh.names),
	}
}

func byRoot(c dataplane.Counters) map[string]int {
	out := map[string]int{}
	for _, h := range c.Handshakes {
		out[h.Root] += int(h.Count)
	}
	return out
}

// named counts by the names of roots.
func named(counts map[string]int, names map[string]string) map[string]int {
	out := map[string]int{}
	for root, n := range counts {
		name, ok := names[root]
		if !ok {
			name = "unknown root " + root
		}
		out[name] += n
	}
	return out
}
