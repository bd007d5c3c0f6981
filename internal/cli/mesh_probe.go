package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/internal/cli/cluster"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/probe"
)

// shownKey says which certificate a probe shows.
type shownKey struct{ cert, key, secret string }

type probeRequest struct {
	place
	port    int32
	shown   shownKey
	timeout time.Duration
	format  format
}

func (a *app) meshProbe() *cobra.Command {
	r := probeRequest{format: readable()}
	cmd := &cobra.Command{
		Use:   "probe SERVICE [-f FILE|DIR|- | --context CONTEXT]",
		Short: "Make the TLS handshake that a load balancer would make, with each pod",
		Long: `Connects from this machine to each pod of a Service, with exactly the roots, server name,
names, ALPN, version and certificate that would be programmed into a load balancer, and
says what came of it. No request is sent. SERVICE is NAME or NAMESPACE/NAME.

The client certificate is that of --cert and --key, or of a Secret in the files (--secret);
without one, none is shown. Keys are never printed.

The exit code is 0 when every pod took the handshake, 2 when one did not, and 1 for an
error.`,
		Example: "  gatehouse mesh probe apps/cart --context prod --cert edge.crt --key edge.key\n  gatehouse mesh probe apps/cart -f deploy/ --secret edge/edge-mesh-identity",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runProbe(cmd.Context(), r, args[0]) },
	}
	a.addPlace(cmd, &r.place)
	a.addClass(cmd, &r.place)
	a.addService(cmd, &r.place)
	f := cmd.Flags()
	f.Int32Var(&r.port, "port", 0, "only this port of the Service")
	f.StringVar(&r.shown.cert, "cert", "", "file with the client certificate and its chain (PEM)")
	f.StringVar(&r.shown.key, "key", "", "file with its key (PEM)")
	f.StringVar(&r.shown.secret, "secret", "", "Secret in the files that holds both, as NAMESPACE/NAME")
	f.DurationVar(&r.timeout, "timeout", 5*time.Second, "how long to wait for each pod")
	r.format.addTo(cmd, "how to print it")
	return cmd
}

// probed is what one pod answered.
type probed struct {
	Mesh    string `json:"mesh"`
	Service string `json:"service"`
	Port    int32  `json:"port"`
	Pod     string `json:"pod"`
	probe.Result
}

func (a *app) runProbe(ctx context.Context, r probeRequest, arg string) error {
	v, err := a.look(ctx, r.place, cluster.NoSecrets)
	if err != nil {
		return err
	}
	c, err := v.choose(r.place, arg, r.port)
	if err != nil {
		return err
	}
	certificate, err := v.certificate(ctx, r.shown)
	if err != nil {
		return err
	}
	results := []probed{}
	homes := homesOf(c.groups)
	for _, g := range c.groups {
		if len(homes[servicePort(g)]) > 0 && !homes.concerns(g) {
			continue // they are another mesh's
		}
		if why := c.unprobed(g); why != "" {
			a.err.Printf("%s %s:%d at %s is not probed: %s\n", a.err.Paint(term.Yellow, "!"), arg, g.Port, g.Controller, why)
			continue
		}
		target := probe.Target{
			Protocol: g.Verdict.Protocol, TLS: *g.Verdict.BackendTLS, Roots: c.roots(g), Certificate: certificate, Timeout: r.timeout,
		}
		results = append(results, probeGroup(ctx, g, target)...)
	}
	return a.showProbed(r.format, results)
}

// unprobed is why a group is not dialled; "" is that it is. What cannot be verified must
// not look as if it had been.
func (c chosenService) unprobed(g translate.MeshGroup) string {
	switch {
	case g.Verdict.Path != meshsync.Direct || g.Verdict.BackendTLS == nil:
		return fmt.Sprintf("nothing would be programmed (%s)", reasonOrNone(g.Verdict))
	case len(c.roots(g)) == 0:
		return "the mesh's roots are not known, so that nothing could be verified; gatehouse mesh check says why"
	default:
		return ""
	}
}

func reasonOrNone(v meshsync.Verdict) string {
	switch {
	case v.Reason != "":
		return string(v.Reason)
	case v.OwnTLS:
		return "the application's own TLS stands"
	default:
		return string(v.Membership)
	}
}

// roots are those of the mesh that a group is judged by.
func (c chosenService) roots(g translate.MeshGroup) []lbmodel.Root {
	i := slices.IndexFunc(c.meshes, func(m translate.MeshFound) bool { return m.Controller == g.Controller && m.Binding == g.Binding.Name })
	if i < 0 {
		return nil
	}
	return c.meshes[i].Trust.Roots
}

// atOnce is how many pods are probed side by side.
const atOnce = 16

func probeGroup(ctx context.Context, g translate.MeshGroup, target probe.Target) []probed {
	out := make([]probed, len(g.Endpoints))
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i, e := range g.Endpoints {
		port := e.Port
		if g.Verdict.Port != 0 {
			port = g.Verdict.Port
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			out[i] = probed{
				Mesh: g.Controller, Service: g.Service.Namespace + "/" + g.Service.Name, Port: g.Port, Pod: e.Pod.Name,
				Result: probe.Dial(ctx, target, net.JoinHostPort(e.Address, strconv.Itoa(int(port)))),
			}
		})
	}
	group.Wait()
	return out
}

// certificate is what a probe shows; nil is none.
func (v view) certificate(ctx context.Context, k shownKey) (*tls.Certificate, error) {
	switch {
	case (k.cert == "") != (k.key == ""):
		return nil, usagef("--cert and --key belong together: give both")
	case k.cert != "" && k.secret != "":
		return nil, usagef("--cert with --key, or --secret: give one or the other")
	case k.cert != "":
		chain, err := os.ReadFile(k.cert)
		if err != nil {
			return nil, err
		}
		private, err := os.ReadFile(k.key)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(chain, private)
		if err != nil {
			return nil, fmt.Errorf("--cert and --key: %w", err) // its texts quote no key
		}
		return &pair, nil
	case k.secret != "" && v.loaded == nil:
		return nil, usagef("--secret names one in files: want -f, or --cert and --key")
	case k.secret != "":
		return v.fromSecret(ctx, k.secret)
	default:
		return nil, nil //nolint:nilnil // a probe without a certificate is one too
	}
}

func (v view) fromSecret(ctx context.Context, name string) (*tls.Certificate, error) {
	namespace, name, ok := strings.Cut(name, "/")
	if !ok {
		return nil, usagef("--secret: want NAMESPACE/NAME")
	}
	at := types.NamespacedName{Namespace: namespace, Name: name}
	for _, s := range v.loaded.Snapshot.Secrets {
		if s.Namespace != at.Namespace || s.Name != at.Name || s.Leaf == nil {
			continue
		}
		source := lbmodel.Source{Kind: translate.KindSecret, Namespace: namespace, Name: name}
		pair, err := v.loaded.Keys.Keyring()(ctx, lbmodel.Identity{Name: at.String(), Source: source, Issuer: lbmodel.IssuerSecret, Leaf: s.Leaf})
		if err != nil {
			return nil, err
		}
		return &pair, nil
	}
	return nil, fmt.Errorf("the files hold no Secret %s with a certificate", at)
}

var errNotProbed = errors.New("there is no pod to probe")

func (a *app) showProbed(f format, all []probed) error {
	if f.forPeople() {
		a.printProbed(all)
	} else if err := writeData(a.out, f.value, all); err != nil {
		return err
	}
	if len(all) == 0 {
		return errNotProbed
	}
	if slices.ContainsFunc(all, func(p probed) bool { return p.Outcome != probe.OK }) {
		return exit(exitChanges)
	}
	return nil
}

func (a *app) printProbed(all []probed) {
	for _, p := range all {
		mark, paint := "✓", term.Green
		if p.Outcome != probe.OK {
			mark, paint = "✗", term.Red
		}
		a.out.Printf("%s %s  %s:%d  %s  %s\n", a.out.Paint(paint, mark), a.out.Paint(term.Bold, p.Pod), p.Service, p.Port, p.Address, a.out.Paint(paint, string(p.Outcome)))
		a.indented(p.Detail)
		t := term.Table{}
		row := func(what, text string) {
			if text != "" {
				t.Cells(term.Cell{Text: what, Paint: term.Dim}, term.Cell{Text: text})
			}
		}
		row("spoken", p.spoken())
		row("names", p.names())
		row("leaf", namedCertificate(p.Leaf))
		row("root", namedCertificate(p.Root))
		row("client", p.client())
		t.Print(a.out, "    ")
	}
}

func (p probed) spoken() string {
	if p.Version == "" {
		return ""
	}
	if p.ALPN == "" {
		return "TLS " + p.Version + ", no ALPN"
	}
	return "TLS " + p.Version + ", ALPN " + p.ALPN
}

func (p probed) names() string {
	var out []string
	for _, n := range p.Names {
		out = append(out, n.Value)
	}
	return strings.Join(out, ", ")
}

func (p probed) client() string {
	switch {
	case p.Version == "":
		return ""
	case p.Shown:
		return "asked for a certificate, and one was shown"
	case p.Asked:
		return "asked for a certificate, and none was shown"
	case p.Outcome != probe.OK: // the server's certificate comes first, and ended it
		return "it is not known whether one is asked for a certificate: the handshake ended before that"
	default:
		return "was not asked for a certificate"
	}
}

func namedCertificate(c *probe.Certificate) string {
	if c == nil {
		return ""
	}
	text := short(c.SHA256) + ", until " + c.NotAfter.Format(time.RFC3339)
	if c.Subject != "" {
		text = c.Subject + ", " + text
	}
	return text
}

// short is the beginning of a fingerprint: enough to tell certificates apart.
func short(sha256 string) string { return sha256[:min(len(sha256), 12)] }
