package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// controllerPrefix and a provider's name make a GatewayClass's controllerName.
const controllerPrefix = "gatehouse.dev/"

// source is where a command's manifests come from.
type source struct {
	paths     []string
	namespace string
	strict    bool
	gateways  []string

	serviceDefault    string   // provider
	serviceParameters []string // provider=namespace/name

	trustDomains []string // mesh=domain

	permits bool // also read the kinds by which meshes say whom they let in
}

func (s *source) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&s.paths, "filename", "f", nil, "file or folder of manifests, or - for standard input; may be repeated")
	f.StringVarP(&s.namespace, "namespace", "n", "default", "namespace of objects that name none")
	f.BoolVar(&s.strict, "strict", false, "refuse everything if one document is bad")
	f.StringVar(&s.serviceDefault, "service-default", "", "provider of Services of type LoadBalancer that name no loadBalancerClass")
	f.StringArrayVar(&s.serviceParameters, "service-parameters", nil, "GatewayParameters of a provider's Services, as PROVIDER=NAMESPACE/NAME; may be repeated")
	f.StringArrayVar(&s.trustDomains, "trust-domain", nil, "trust domain that no object has, as MESH=DOMAIN, such as consul.hashicorp.com/consul=<uuid>.consul; may be repeated")
}

// onlyGateways lets a command look at some gateways only.
func (a *app) onlyGateways(cmd *cobra.Command, s *source) {
	cmd.Flags().StringArrayVarP(&s.gateways, "gateway", "g", nil, "only this Gateway, as namespace/name, or this Service, as Service/namespace/name; may be repeated")
	complete(cmd, "gateway", func([]string) []string { return a.gatewayNames(*s) })
}

// badness is whether something in the files could not be used.
type badness bool

func bad(l *manifest.Loaded) badness { return badness(l.Incomplete) }

// load reads the files and tells on stderr what is wrong with them. What is bad
// is left out; only what leaves nothing to use is an error.
func (a *app) load(ctx context.Context, s source) (*manifest.Loaded, error) {
	if slices.Contains(s.paths, "") {
		return nil, usagef("-f names nothing: want a file, a folder, or - for standard input")
	}
	loaded, err := manifest.Load(ctx, a.manifestOptions(s))
	if err != nil && !errors.Is(err, manifest.ErrRefused) {
		return nil, err
	}
	a.log.Info("read", "files", len(loaded.Files), "problems", len(loaded.Problems), "warnings", len(loaded.Warnings))
	a.printProblems(loaded)
	if err != nil {
		return nil, fmt.Errorf("nothing was done: --strict refuses all of it for %s", words.Count(len(loaded.Problems), "problem"))
	}
	return loaded, nil
}

func (a *app) manifestOptions(s source) manifest.Options {
	dialects, _ := a.dialects(s) // what is wrong with a flag, translateOptions says
	o := manifest.Options{
		MeshKinds: s.meshKinds(translate.Options{Dialects: dialects}),
		Paths:     s.paths, Stdin: a.env.In, Cluster: a.flags.cluster, DefaultNamespace: s.namespace, Schemas: &a.schemas,
	}
	if s.strict {
		o.Strict = manifest.RefuseAll
	}
	return o
}

// meshKinds are the meshes' own kinds that a command reads.
func (s source) meshKinds(o translate.Options) []schema.GroupVersionKind {
	if !s.permits {
		return o.Reads()
	}
	return append(o.Reads(), o.Permits()...)
}

// printProblems says what is wrong with the files, and what was passed over.
func (a *app) printProblems(l *manifest.Loaded) {
	for _, p := range l.Problems {
		a.printProblem("✗", term.Red, p)
	}
	for _, p := range l.Warnings {
		a.printProblem("!", term.Yellow, p)
	}
	if len(l.Skipped) > 0 {
		var kinds []string
		for _, k := range l.Skipped {
			kinds = append(kinds, fmt.Sprintf("%s (%d)", k.Kind, k.Count))
		}
		a.err.Printf("%s\n", a.err.Paint(term.Dim, "Passed over, not ours to read: "+strings.Join(kinds, ", ")))
	}
	if l.Incomplete {
		a.err.Printf("%s\n\n", a.err.Paint(term.Yellow, "Something was left out. A plan changes no gateway that hangs on it, and deletes nothing elsewhere."))
	}
}

func (a *app) printProblem(mark string, paint term.Paint, p manifest.Problem) {
	a.err.Printf("%s %s", a.err.Paint(paint, mark), a.err.Paint(term.Bold, p.Place.String()))
	for _, part := range []string{p.Object.String(), p.Field} {
		if part != "" {
			a.err.Printf("  %s", part)
		}
	}
	a.err.Println()
	for _, line := range term.Wrap(p.Message, a.err.Width()-2) {
		a.err.Printf("  %s\n", line)
	}
}

// translateOptions say which classes are ours and what their providers can do.
func (a *app) translateOptions(s source) (o translate.Options, err error) {
	o = translate.Options{Controllers: map[string]string{}, ServiceDefault: s.serviceDefault}
	if o.ServiceParameters, err = serviceParameters(s.serviceParameters); err != nil {
		return o, err
	}
	if o.Dialects, err = a.dialects(s); err != nil {
		return o, err
	}
	for _, name := range append(slices.Collect(maps.Keys(o.ServiceParameters)), s.serviceDefault) {
		if _, ok := a.provider(name); !ok && name != "" {
			return o, usagef("there is no provider %q", name)
		}
	}
	for _, p := range a.config.Providers {
		o.Controllers[controllerPrefix+p.Name] = p.Name
	}
	o.Offers = func(provider string, settings json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
		if p, ok := a.provider(provider); ok {
			return p.Compiler.Offers(settings)
		}
		return lbmodel.Features{}, nil
	}
	o.AllowLoopback = func(provider string, settings json.RawMessage) bool {
		p, ok := a.provider(provider)
		return ok && p.AllowLoopback != nil && p.AllowLoopback(settings)
	}
	return o, nil
}

func (a *app) provider(name string) (Provider, bool) {
	i := slices.IndexFunc(a.config.Providers, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return a.config.Providers[i], true
}

// reading is what files come to without a cloud.
type reading struct {
	gateways []reconcile.Gateway
	strays   []lbmodel.Finding // about routes that no gateway of the files has
	bad      badness
}

// read loads and translates, and asks no cloud.
func (a *app) read(ctx context.Context, s source) (reading, error) {
	loaded, err := a.load(ctx, s)
	if err != nil {
		return reading{}, err
	}
	options, err := a.translateOptions(s)
	if err != nil {
		return reading{}, err
	}
	x := translate.New(loaded.Snapshot, options)
	keys, err := a.chosen(x, loaded.Snapshot, s.gateways)
	if err != nil {
		return reading{}, err
	}
	out := reading{bad: bad(loaded)}
	for _, key := range keys {
		out.gateways = append(out.gateways, reconcile.Read(x, key))
	}
	if len(s.gateways) == 0 {
		out.strays = strays(loaded.Snapshot)
	}
	out.strays = append(out.strays, bound(x, out.gateways, time.Now())...)
	out.strays = append(out.strays, unissued(out.gateways, func(reconcile.Gateway) map[string]lbmodel.Leaf { return nil }, nobody)...)
	return out, nil
}

// chosen are the gateways that a command is about.
func (a *app) chosen(x *translate.Index, s translate.Snapshot, names []string) ([]translate.Key, error) {
	all := x.Gateways()
	if len(all) == 0 {
		return nil, a.noGateway(s)
	}
	if len(names) == 0 {
		return all, nil
	}
	var out []translate.Key
	for _, name := range names {
		i := slices.IndexFunc(all, func(k translate.Key) bool { return keyName(k) == name || k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no gateway %s of ours in the files; there is %s", name, joinKeys(all))
		}
		out = append(out, all[i])
	}
	return out, nil
}

func joinKeys(keys []translate.Key) string {
	var names []string
	for _, k := range keys {
		names = append(names, keyName(k))
	}
	return strings.Join(names, ", ")
}

// noGateway says why there is nothing to do, as far as the files tell.
func (a *app) noGateway(s translate.Snapshot) error {
	var ours []string
	for _, p := range a.config.Providers {
		ours = append(ours, controllerPrefix+p.Name)
	}
	switch {
	case len(s.Gateways) == 0:
		return fmt.Errorf("the files hold no Gateway, and no Service of type LoadBalancer with loadBalancerClass %s: name those that do with -f", strings.Join(ours, " or "))
	case len(s.GatewayClasses) == 0:
		return fmt.Errorf("the files hold no GatewayClass, so no Gateway is known to be ours: add one with controllerName %s", strings.Join(ours, " or "))
	default:
		return fmt.Errorf("no Gateway in the files is of a class of ours: controllerName must be %s", strings.Join(ours, " or "))
	}
}

func findingsOf(all []reconcile.Gateway) []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, g := range all {
		out = append(out, g.Findings...)
	}
	return out
}
