package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatehouse.dev/fake/local"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/standalone"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Config says how a demo is told.
type Config struct {
	Out  term.Screen // the story; nil Writer tells none
	Stay bool        // wait for ctx at the end, with everything up
	// Breath is how long the load runs between two stages of the rotation, to see
	// each alone; 0 is 900 ms.
	Breath time.Duration
}

// demo is one run.
type demo struct {
	config   Config
	files    files
	stack    *standalone.Stack
	backends *backends
	visitor  *visitor
	public   *authority
	mesh     *mesh
	report   Report
}

// Run tells the whole story and reports how it went. It leaves nothing behind.
func Run(ctx context.Context, config Config) (_ Report, err error) {
	if config.Breath == 0 {
		config.Breath = 900 * time.Millisecond
	}
	d := &demo{config: config, backends: newBackends()}
	began := time.Now()
	defer func() { err = errors.Join(err, d.end(context.WithoutCancel(ctx))) }()
	for _, chapter := range []func(context.Context) error{d.prepare, d.model, d.apply, d.visit, d.rotation} {
		if err := chapter(ctx); err != nil {
			return d.report, err
		}
	}
	d.report.Seconds = time.Since(began).Round(100 * time.Millisecond).Seconds()
	d.printEnd()
	if config.Stay {
		d.printStay()
		<-ctx.Done()
		d.printStopping()
	}
	return d.report, nil
}

// prepare makes CAs, the mesh, files and backends.
func (d *demo) prepare(ctx context.Context) (err error) {
	if d.public, err = newAuthority("shop site CA", day); err != nil {
		return err
	}
	if d.mesh, err = newMesh(); err != nil {
		return err
	}
	cert, err := d.public.issue("", site, "*.shop.test")
	if err != nil {
		return err
	}
	if d.files, err = writeFiles(ctx); err != nil {
		return err
	}
	if err := d.files.write(certificatesFile, siteYAML(cert)); err != nil {
		return err
	}
	if err := d.files.write(rootsFile, d.mesh.yaml()); err != nil {
		return err
	}
	if d.stack, err = d.open(ctx); err != nil {
		return err
	}
	for _, p := range d.stack.Problems {
		return fmt.Errorf("the demo's own files: %s: %s", p.Place, p.Message)
	}
	return d.startBackends(ctx)
}

// open is the whole of Gatehouse, by the demo's clock.
func (d *demo) open(ctx context.Context) (*standalone.Stack, error) {
	now := d.mesh.clock.now
	return standalone.Open(ctx, standalone.Config{
		Dir: d.files.dir, Cluster: "demo", Local: local.Config{Now: now, HealthEvery: 50 * time.Millisecond},
		Dialects: member.Dialects(), Members: d.mesh.members(), Clock: providers.Clock{Now: now},
	})
}

// startBackends serves every endpoint that the manifests name; those of the
// checkout team stand behind a sidecar.
func (d *demo) startBackends(ctx context.Context) error {
	for _, slice := range d.stack.Now.EndpointSlices {
		name := slice.Namespace + "/" + slice.Labels["kubernetes.io/service-name"]
		for _, endpoint := range slice.Endpoints {
			addr := net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*slice.Ports[0].Port)))
			if slice.Namespace != "checkout" {
				if err := d.backends.serve(ctx, name, addr); err != nil {
					return err
				}
				continue
			}
			at, err := netip.ParseAddrPort(addr)
			if err != nil {
				return err
			}
			if err := d.mesh.sidecar(name, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply shows the plan, does it, and plans again.
func (d *demo) apply(ctx context.Context) error {
	keys := d.stack.Loop.Index().Gateways()
	plan, err := d.pass(ctx, keys)
	if err != nil {
		return err
	}
	d.printPlan(plan)
	again, err := d.pass(ctx, keys)
	if err != nil {
		return err
	}
	d.report.SecondPlan = len(again.Steps)
	d.report.Failed += len(again.Steps)
	d.printAgain(again)
	plain, err := d.stack.Address("shop", 8080)
	if err != nil {
		return err
	}
	secure, err := d.stack.Address("shop", 8443)
	if err != nil {
		return err
	}
	d.visitor = newVisitor(plain, secure, d.public)
	return nil
}

// pass plans, applies and serves; in a demo, anything that is not done is an
// error.
func (d *demo) pass(ctx context.Context, keys []translate.Key) (lbmodel.Plan, error) {
	done, err := d.stack.Pass(ctx, keys)
	for id, failure := range done.Failed {
		err = errors.Join(err, fmt.Errorf("applying %s: %w", id, failure))
	}
	if err == nil && !done.Settled {
		err = errors.New("applying: not everything is there yet")
	}
	return done.Plan, err
}

// visit sends the tour's requests and counts the canary's share.
func (d *demo) visit(ctx context.Context) error {
	for _, s := range tour {
		v := d.visitor.visit(ctx, s)
		if v.Status != v.Wanted {
			d.report.Failed++
		}
		d.report.Tour = append(d.report.Tour, v)
	}
	d.report.Tour = append(d.report.Tour, d.askMeshDirectly(ctx))
	d.report.Canary = d.visitor.canary(ctx, 200)
	d.printTour()
	return nil
}

// askMeshDirectly shows that the mesh refuses who has no certificate.
func (d *demo) askMeshDirectly(ctx context.Context) Visit {
	i := slices.IndexFunc(d.stack.Now.EndpointSlices, func(s endpointSlice) bool { return s.Namespace == "checkout" })
	slice := d.stack.Now.EndpointSlices[i]
	addr := net.JoinHostPort(slice.Endpoints[0].Addresses[0], strconv.Itoa(int(*slice.Ports[0].Port)))
	v := Visit{What: "past the gateway, without a certificate", URL: "https://" + addr}
	err := stranger(ctx, addr)
	switch {
	case err == nil, !strings.Contains(err.Error(), "certificate required"):
		d.report.Failed++
		v.Answer = fmt.Sprintf("not refused as it should be: %v", err)
	default:
		v.Answer = "refused by the backend: certificate required"
	}
	return v
}

func (d *demo) rotation(ctx context.Context) error {
	d.chapter("The mesh rotates its CA, twice, under load")
	d.say("  Only what istiod publishes is changed. Where days would pass, the clock is set forward.")
	err := d.rotate(ctx)
	d.report.Failed += d.report.Rotation.Failed
	return err
}

// end stops everything and removes the files.
func (d *demo) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if d.visitor != nil {
		d.visitor.client.CloseIdleConnections()
	}
	var errs []error
	if d.stack != nil {
		errs = append(errs, d.stack.Close(ctx))
	}
	errs = append(errs, d.backends.stop())
	if d.mesh != nil {
		errs = append(errs, d.mesh.stop())
	}
	if d.files.dir != "" {
		errs = append(errs, d.files.remove())
	}
	return errors.Join(errs...)
}
