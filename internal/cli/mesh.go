package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/cli/cluster"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/translate"
)

func (a *app) mesh() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mesh",
		Short: "What the service meshes of a cluster let a gateway do",
		Long: `Says, for files or for a cluster, which meshes there are, which pods a gateway outside
the cluster reaches over mutual TLS, and what to change where it does not.

  gatehouse mesh check -f DIR          what is reached, and what is not
  gatehouse mesh fix apps/cart -f DIR  the change that helps, as YAML
  gatehouse mesh allow -f DIR          what lets the gateways in where a policy does not
  gatehouse mesh probe apps/cart       whether it is so: a real handshake with each pod`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.meshCheck(), a.meshFix(), a.meshAllow(), a.meshProbe())
	return cmd
}

// place is where a command reads objects: files, or else a cluster.
type place struct {
	source
	access cluster.Access
	class  string
}

func (a *app) addPlace(cmd *cobra.Command, p *place) {
	p.addTo(cmd)
	f := cmd.Flags()
	f.StringVar(&p.access.Kubeconfig, "kubeconfig", "", "kubeconfig to read ($KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&p.access.Context, "context", "", "read the cluster of this context (without -f: the current one)")
	complete(cmd, "context", func([]string) []string { return cluster.Contexts(p.access) })
}

func (a *app) addClass(cmd *cobra.Command, p *place) {
	cmd.Flags().StringVar(&p.class, "class", "", "judge by what gateways of this GatewayClass can do (default the only one there is, else one that can do everything)")
	complete(cmd, "class", func([]string) []string {
		v, err := a.quiet().look(cmd.Context(), *p, cluster.NoSecrets)
		if err != nil {
			return nil // a completion has nowhere to complain
		}
		return v.classes
	})
}

// quiet is an app that says nothing on stderr.
func (a *app) quiet() *app {
	return &app{config: a.config, env: a.env, flags: a.flags, out: a.out, err: term.Screen{Writer: discard{}}, log: a.log}
}

type discard struct{}

// Write implements io.Writer.
func (discard) Write(p []byte) (int, error) { return len(p), nil }

// view is what there is to look at.
type view struct {
	index    *translate.Index
	loaded   *manifest.Loaded // nil of a cluster
	options  translate.Options
	bindings []*v1alpha1.MeshBinding
	classes  []string // of ours
	// doubt says that something could not be read, so that what is told may be wrong.
	doubt bool
	// unread are the MeshBindings that could not be read, and files in which there may
	// be one.
	unread []string
	live   bool // it is a cluster's
}

// look reads files or a cluster.
func (a *app) look(ctx context.Context, p place, secrets cluster.Secrets) (view, error) {
	options, err := a.translateOptions(p.source)
	if err != nil {
		return view{}, err
	}
	if len(p.paths) > 0 && p.access.Context+p.access.Kubeconfig != "" {
		return view{}, usagef("-f reads files, --context and --kubeconfig a cluster: give one or the other")
	}
	if len(p.paths) == 0 {
		return a.lookAtCluster(ctx, p, options, secrets)
	}
	loaded, err := a.load(ctx, p.source)
	if err != nil {
		return view{}, err
	}
	loaded.Snapshot.Bundles, _ = a.bundles(ctx, translate.New(loaded.Snapshot, options))
	s := loaded.Snapshot
	return view{
		index: translate.New(s, options), loaded: loaded, options: options, bindings: s.MeshBindings,
		classes: a.ourClasses(s.GatewayClasses), doubt: loaded.Incomplete, unread: unreadBindings(loaded),
	}, nil
}

func (a *app) lookAtCluster(ctx context.Context, p place, options translate.Options, secrets cluster.Secrets) (view, error) {
	wait := term.NewProgress(a.err, "reading the cluster")
	objects, err := cluster.Read(ctx, p.access, p.meshKinds(options), secrets)
	wait.Stop()
	if err != nil {
		return view{}, err
	}
	options.NoTrustBundles = objects.NoTrustBundles
	var classes []*gwv1.GatewayClass
	v := view{options: options, live: true, doubt: len(objects.Forbidden) > 0}
	v.unread = slices.DeleteFunc(slices.Clone(objects.Forbidden), func(kind string) bool { return kind != translate.KindMeshBinding })
	for _, obj := range objects.All {
		switch o := obj.(type) {
		case *gwv1.GatewayClass:
			classes = append(classes, o)
		case *v1alpha1.MeshBinding:
			v.bindings = append(v.bindings, o)
		}
	}
	v.classes = a.ourClasses(classes)
	v.index, _ = translate.New(translate.Snapshot{Cluster: a.flags.cluster, LiveEndpoints: true}, options).With(translate.Change{Put: objects.All})
	found, _ := a.bundles(ctx, v.index)
	v.index, _ = v.index.With(translate.Change{Put: each(found)})
	if v.doubt {
		a.err.Printf("%s you have no right to list %s: what hangs on them is not known.\n", a.err.Paint(term.Yellow, "!"), strings.Join(objects.Forbidden, ", "))
	}
	return v, nil
}

// unreadBindings names the MeshBindings of files that could not be read, and the places
// of what is not known to be something else.
func unreadBindings(l *manifest.Loaded) []string {
	var out []string
	for _, p := range l.Problems {
		switch p.Object.Kind {
		case translate.KindMeshBinding:
			out = append(out, p.Object.Object().String())
		case "":
			out = append(out, p.Place.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ourClasses are the names of the classes of providers that are here, sorted.
func (a *app) ourClasses(all []*gwv1.GatewayClass) []string {
	var out []string
	for _, c := range all {
		name, ours := strings.CutPrefix(string(c.Spec.ControllerName), controllerPrefix)
		if _, known := a.provider(name); ours && known {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// judge makes the report for a class.
func (v view) judge(class string, which translate.MeshServices) (translate.MeshReport, string, error) {
	if class == "" && len(v.classes) == 1 {
		class = v.classes[0]
	}
	r, ok := v.index.MeshReport(class, which)
	switch {
	case ok || class == "":
		return v.withRoutes(r, class), class, nil
	case len(v.classes) == 0:
		return r, class, usagef("there is no GatewayClass %s of a provider that is here, nor any other", class)
	default:
		return r, class, usagef("there is no GatewayClass %s of a provider that is here; there is %s", class, strings.Join(v.classes, ", "))
	}
}

// serviceArg is [NAMESPACE/]NAME of a Service.
func serviceArg(p place, arg string) (translate.Key, error) {
	kind, namespace, name, ok := splitName(arg)
	if !ok || kind != "" && kind != translate.KindService {
		return translate.Key{}, usagef("%q: want NAME or NAMESPACE/NAME of a Service", arg)
	}
	if namespace == "" {
		namespace = p.namespace
	}
	if namespace == "" {
		namespace = corev1.NamespaceDefault
	}
	return translate.Key{Kind: translate.KindService, Namespace: namespace, Name: name}, nil
}
