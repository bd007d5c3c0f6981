package cli

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli/draw"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
)

// translated is one gateway of `translate`'s YAML and JSON.
type translated struct {
	Provider string            `json:"provider"`
	Skip     string            `json:"skip,omitzero"`
	Gateway  jsontext.Value    `json:"gateway"` // canonical: lbmodel.EncodeJSON
	Findings []lbmodel.Finding `json:"findings"`
}

func (a *app) translate() *cobra.Command {
	var s source
	f := readable()
	cmd := &cobra.Command{
		Use:   "translate -f FILE|DIR|-",
		Short: "Show what the manifests mean: the provider-agnostic model",
		Long: `Reads manifests as a cluster would, with the same defaults and validation, and
shows the model of each gateway as its provider will serve it: rules in the order
in which they are asked, pools with their protection, certificates and roots. What
the provider cannot do is already a fixed answer, and is told below.`,
		Example: "  gatehouse translate -f examples/shop\n  kubectl get gateways,httproutes,services,endpointslices -A -o yaml | gatehouse translate -f - -o yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.read(cmd.Context(), s)
			if err != nil {
				return err
			}
			return a.showTranslated(f, r)
		},
	}
	s.addTo(cmd)
	a.onlyGateways(cmd, &s)
	f.addTo(cmd, "how to print it")
	return cmd
}

func (a *app) showTranslated(f format, r reading) error {
	if !f.forPeople() {
		out := []translated{}
		for _, g := range r.gateways {
			model, err := lbmodel.EncodeJSON(g.Served)
			if err != nil {
				return err
			}
			out = append(out, translated{g.Result.Provider, g.Result.Skip, model, g.Findings})
		}
		return writeData(a.out, f.value, out)
	}
	for _, g := range r.gateways {
		printModel(a.out, g.Result.Provider, g.Served)
	}
	printFindings(a.out, append(findingsOf(r.gateways), r.strays...))
	return nil
}

func (a *app) graph() *cobra.Command {
	var s source
	f := format{value: "mermaid", choices: []string{"mermaid", "dot", "svg"}}
	cmd := &cobra.Command{
		Use:   "graph -f FILE|DIR|-",
		Short: "Draw listeners, rules, pools and endpoints",
		Long: `Draws each gateway in four columns: listener, rule, pool, endpoints. Colours say
how the hop to a backend is protected, and which rules are broken. SVG needs no
other program; Mermaid is what GitHub and GitLab draw in Markdown.`,
		Example: "  gatehouse graph -f examples/shop -o svg > shop.svg\n  gatehouse graph -f examples/shop -o dot | dot -Tpng > shop.png",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.read(cmd.Context(), s)
			if err != nil {
				return err
			}
			return a.draw(f, r.gateways)
		},
	}
	s.addTo(cmd)
	a.onlyGateways(cmd, &s)
	f.addTo(cmd, "which language")
	return cmd
}

func (a *app) draw(f format, all []reconcile.Gateway) error {
	if f.value == "svg" && len(all) > 1 {
		return errors.New("an SVG holds one gateway: choose one with --gateway")
	}
	for _, g := range all {
		d := draw.Of(g.Served)
		text := map[string]func() string{"mermaid": d.Mermaid, "dot": d.DOT, "svg": d.SVG}[f.value]()
		if _, err := io.WriteString(a.out, text); err != nil {
			return fmt.Errorf("writing the picture: %w", err)
		}
	}
	return nil
}

func (a *app) explain() *cobra.Command {
	var s source
	var headers []string
	var sni string
	f := readable()
	cmd := &cobra.Command{
		Use:   "explain -f FILE|DIR|- [METHOD] URL",
		Short: "Say which rule answers a request, and why",
		Long: `Follows one request through a gateway: the listener that takes it, the rules that
were asked before and why they did not match, the rule that answers, and the pools
and endpoints behind it, each with the object that it comes from. It asks the same
matcher as the data plane. tls://, tcp:// and udp:// ask about connections.`,
		Example: "  gatehouse explain -f examples/shop https://www.shop.test:8443/checkout\n  gatehouse explain -f examples/shop POST http://www.shop.test:8080/api/catalog/7 -H 'X-Ver: 2'",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := parseQuestion(args, headers, sni)
			if err != nil {
				return err
			}
			r, err := a.read(cmd.Context(), s)
			if err != nil {
				return err
			}
			return a.answer(f, q, r.gateways)
		},
	}
	s.addTo(cmd)
	a.onlyGateways(cmd, &s)
	f.addTo(cmd, "how to print it")
	cmd.Flags().StringArrayVarP(&headers, "header", "H", nil, "a header of the request, as 'Name: value'; may be repeated")
	cmd.Flags().StringVar(&sni, "sni", "", "server name of the TLS handshake (default the URL's host)")
	return cmd
}

// answer asks the gateways that have the port; with none, all of them say why.
func (a *app) answer(f format, q question, all []reconcile.Gateway) error {
	var traces, refused []trace
	for _, g := range all {
		t := q.traceIn(g.Served)
		t.because(g.Findings)
		if t.Listener == nil {
			refused = append(refused, t)
		} else {
			traces = append(traces, t)
		}
	}
	if len(traces) == 0 {
		traces = refused
	}
	if !f.forPeople() {
		return writeData(a.out, f.value, traces)
	}
	for i, t := range traces {
		if i > 0 {
			a.out.Println()
		}
		tracePrinter{a.out}.print(t)
	}
	return nil
}
