package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

func (a *app) get() *cobra.Command {
	var live bool
	f := readable()
	cmd := &cobra.Command{
		Use:   "get [gateways|resources|status]",
		Short: "Show what was applied: gateways, cloud resources, statuses",
		Long: `Shows what the last apply left, as it was recorded. With --live the provider is
asked what is really there now.`,
		Example:   "  gatehouse get\n  gatehouse get resources --live -o yaml",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"gateways", "resources", "status"},
		RunE: func(cmd *cobra.Command, args []string) error {
			what := "gateways"
			if len(args) == 1 {
				what = args[0]
			}
			if live && what == "status" {
				return usagef("a status is written by apply: --live has none to ask for")
			}
			return a.runGet(cmd.Context(), getRequest{what: what, live: live, format: f})
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "ask the provider what is there now")
	f.addTo(cmd, "how to print it")
	return cmd
}

type getRequest struct {
	what   string
	live   bool
	format format
}

func (a *app) runGet(ctx context.Context, r getRequest) error {
	where, err := a.state()
	if err != nil {
		return err
	}
	record, err := where.record()
	if err != nil {
		return err
	}
	if r.live && where.exists() {
		if err := a.refresh(ctx, where, &record); err != nil {
			return err
		}
	}
	if len(record.Gateways)+len(record.Resources) == 0 && r.format.forPeople() {
		a.out.Printf("Nothing was applied to cluster %s yet.\n", a.flags.cluster)
		return nil
	}
	return a.printRecord(r, record)
}

// refresh replaces what was recorded by what is there.
func (a *app) refresh(ctx context.Context, where state, r *record) (err error) {
	e, err := a.open(ctx, Options{ReadOnly: true, StateDir: where.dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	e.record = *r
	if err := e.need(ctx, translate.Snapshot{}); err != nil {
		return err
	}
	now := record{At: time.Now().UTC(), Statuses: r.Statuses}
	for provider, b := range e.backends {
		graph, err := b.Provider.Observe(ctx, lbmodel.Owner{Cluster: a.flags.cluster}, nil)
		if err != nil {
			return fmt.Errorf("looking at provider %s: %w", provider, err)
		}
		now.Resources = append(now.Resources, recordedResources(provider, graph)...)
		now.Gateways = append(now.Gateways, r.observed(provider, graph)...)
	}
	sortResources(now.Resources)
	*r = now
	return nil
}

// observed are the gateways that own something in a cloud, with what only the
// record knows of them.
func (r record) observed(provider string, graph lbmodel.Graph) []recordedGateway {
	parts := map[lbmodel.Owner]lbmodel.Graph{}
	for id, x := range graph {
		if x.Owner.Name == "" {
			continue
		}
		if parts[x.Owner] == nil {
			parts[x.Owner] = lbmodel.Graph{}
		}
		parts[x.Owner][id] = x
	}
	var out []recordedGateway
	for owner, part := range parts {
		g := recordedGateway{Owner: owner, Provider: provider}
		if i := slices.IndexFunc(r.Gateways, func(g recordedGateway) bool { return g.Owner == owner }); i >= 0 {
			g = r.Gateways[i]
		}
		g.Addresses = reconcile.AddressesIn(part)
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b recordedGateway) int { return cmp.Compare(a.Owner.String(), b.Owner.String()) })
	return out
}

func (a *app) printRecord(r getRequest, record record) error {
	switch {
	case !r.format.forPeople() && r.what == "gateways":
		return writeData(a.out, r.format.value, record.Gateways)
	case !r.format.forPeople() && r.what == "resources":
		return writeData(a.out, r.format.value, record.Resources)
	case !r.format.forPeople():
		return writeData(a.out, r.format.value, record.Statuses)
	case r.what == "gateways":
		a.printGateways(record)
	case r.what == "resources":
		a.printResources(record)
	default:
		a.printStatuses(record.Statuses)
	}
	return nil
}

func (a *app) printGateways(r record) {
	t := term.Table{Header: []string{"gateway", "provider", "address", "listeners", "rules", "problems", "state"}}
	for _, g := range r.Gateways {
		var addresses []string
		for _, address := range g.Addresses {
			addresses = append(addresses, address.Value)
		}
		problems, state := term.Cell{Text: strconv.Itoa(g.Problems)}, term.Cell{Text: "applied", Paint: term.Green}
		if g.Problems > 0 {
			problems.Paint = term.Yellow
		}
		if !g.Settled {
			state = term.Cell{Text: "unfinished", Paint: term.Red}
		}
		t.Cells(term.Cell{Text: ownerName(g.Owner), Paint: term.Bold}, term.Cell{Text: g.Provider},
			term.Cell{Text: strings.Join(addresses, ",")}, term.Cell{Text: strconv.Itoa(g.Listeners)},
			term.Cell{Text: strconv.Itoa(g.Rules)}, problems, state)
	}
	t.Print(a.out, "")
}

func (a *app) printResources(r record) {
	t := term.Table{Header: []string{"resource", "handle", "hold", "gateway"}}
	for _, x := range r.Resources {
		owner := "-"
		if x.Owner.Name != "" {
			owner = ownerName(x.Owner)
		}
		t.Cells(term.Cell{Text: x.ID.String(), Paint: term.Bold}, term.Cell{Text: string(x.Handle), Paint: term.Dim},
			term.Cell{Text: strings.ToLower(x.Hold)}, term.Cell{Text: owner})
	}
	t.Print(a.out, "")
}
