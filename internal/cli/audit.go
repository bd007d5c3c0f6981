package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli/cluster"
	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/controller/audit"
)

// auditFilter says which entries are shown. What is empty fits all.
type auditFilter struct {
	gateway   string
	namespace string
	op        string
	since     string
	from      time.Time // what since means
	of        called    // what gateway means
}

func (a *app) audit() *cobra.Command {
	var filter auditFilter
	f := format{value: forPeople, choices: []string{forPeople, "json"}}
	cmd := &cobra.Command{
		Use:   "audit FILE|-",
		Short: "Read the record of a controller's calls",
		Long: `Shows the audit log of a controller: every call that may have changed a cloud, when it was
made, for which gateway, and what came of it. With -o json each entry is one line. Lines
that a crash has cut are counted and passed over. A name without a namespace is in that
of -n, or of the kubeconfig's context.`,
		Example: "  gatehouse audit audit.log --gateway edge/shop --since 2h\n  gatehouse audit audit.log --op 'Delete*' -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var err error
			if filter.of, err = calledBy(filter.gateway, filter.namespace); err != nil {
				return err
			}
			if filter.from, err = sinceTime(filter.since, time.Now()); err != nil {
				return err
			}
			if _, err := path.Match(filter.op, ""); err != nil {
				return usagef("--op %q: want an operation such as CreateRule, or a pattern such as Delete*", filter.op)
			}
			return a.runAudit(args[0], filter, f)
		},
	}
	cmd.Flags().StringVar(&filter.gateway, "gateway", "", "only calls of this gateway, or made for it: [gateway/|service/][NAMESPACE/]NAME")
	cmd.Flags().StringVarP(&filter.namespace, "namespace", "n", "", "namespace of --gateway (that of the kubeconfig's context)")
	cmd.Flags().StringVar(&filter.since, "since", "", "only calls since then: a span such as 90m, or a time as 2006-01-02T15:04:05Z")
	cmd.Flags().StringVar(&filter.op, "op", "", "only this operation: CreateRule, Delete*")
	f.addTo(cmd, "how to print it")
	return cmd
}

// sinceTime reads a span or a time (RFC 3339).
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usagef("--since %q: want a span such as 90m, or a time as 2006-01-02T15:04:05Z", text)
	}
	return at, nil
}

func (a *app) runAudit(name string, filter auditFilter, f format) error {
	from := a.env.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // it was only read
		from = file
	}
	if f.forPeople() {
		return a.auditTable(from, filter)
	}
	return a.auditLines(from, filter)
}

// auditLines writes entries as they come: a record may be larger than memory.
func (a *app) auditLines(from io.Reader, filter auditFilter) error {
	return a.eachEntry(from, filter, func(e audit.Entry) error {
		text, err := encodeLine(e)
		if err == nil {
			_, err = fmt.Fprintf(a.out, "%s\n", text)
		}
		return err
	})
}

func (a *app) auditTable(from io.Reader, filter auditFilter) error {
	t := term.Table{Header: []string{"time", "gateway", "op", "resource", "code", "took", "why"}}
	err := a.eachEntry(from, filter, func(e audit.Entry) error {
		if e.Lost > 0 {
			t.Cells(term.Cell{Text: e.Time.UTC().Format(time.RFC3339)}, term.Cell{Text: "-"}, term.Cell{Text: "-"}, term.Cell{Text: "-"},
				term.Cell{Text: "Lost", Paint: term.Red}, term.Cell{Text: "-"}, term.Cell{Text: fmt.Sprintf("%d entries could not be written", e.Lost)})
			return nil
		}
		paint := term.Green
		if e.Code != "OK" {
			paint = term.Red
		}
		t.Cells(term.Cell{Text: e.Time.UTC().Format(time.RFC3339)}, term.Cell{Text: visible(whose(e))}, term.Cell{Text: visible(e.Op)},
			term.Cell{Text: visible(e.ID.String()), Paint: term.Bold}, term.Cell{Text: visible(e.Code), Paint: paint},
			term.Cell{Text: strconv.FormatFloat(e.Took, 'f', 3, 64) + "s"}, term.Cell{Text: visible(oneLine(cmp.Or(e.Error, e.Why)))})
		return nil
	})
	if err != nil {
		return err
	}
	if t.Empty() {
		if filter.of != (called{}) {
			a.out.Printf("No such call of %s in namespace %s.\n", filter.of.name, filter.of.namespace)
			return nil
		}
		a.out.Println("No such call.")
		return nil
	}
	t.Print(a.out, "")
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// eachEntry visits what a filter lets through, and says how many lines are none.
func (a *app) eachEntry(from io.Reader, filter auditFilter, visit func(audit.Entry) error) error {
	torn := 0
	for e, err := range audit.Read(from) {
		switch {
		case errors.Is(err, audit.ErrTorn):
			torn++
			continue
		case err != nil:
			return fmt.Errorf("reading the record: %w", err)
		case !filter.lets(e):
			continue
		}
		if err := visit(e); err != nil {
			return err
		}
	}
	if torn > 0 {
		a.err.Printf("%s %s: a crash has cut them, or the file is no audit log.\n", a.err.Paint(term.Yellow, "!"), countOf(torn, "line")+" passed over")
	}
	return nil
}

// lets says whether an entry is asked for. That entries are missing is always told.
func (f auditFilter) lets(e audit.Entry) bool {
	if e.Time.Before(f.from) {
		return false
	}
	if e.Lost > 0 {
		return true
	}
	matches, _ := path.Match(cmp.Or(f.op, "*"), e.Op) // the pattern was checked
	return matches && (f.of == (called{}) || f.of.names(e.Gateway) || f.of.names(e.For.String()))
}

// called is an object by name, of any kind where kind is empty; without a name it is
// every object.
type called struct{ kind, namespace, name string }

// calledBy reads a name from the command line.
func calledBy(arg, namespace string) (out called, err error) {
	if arg == "" {
		return out, nil
	}
	var ok bool
	if out.kind, out.namespace, out.name, ok = splitName(arg); !ok {
		return out, usagef("--gateway %q: want NAME or NAMESPACE/NAME, after gateway/ or service/ if need be", arg)
	}
	if namespace != "" && out.namespace != "" && namespace != out.namespace {
		return out, usagef("--gateway %q is not in namespace %s, which -n names", arg, namespace)
	}
	if out.namespace = cmp.Or(out.namespace, namespace); out.namespace != "" {
		return out, nil
	}
	out.namespace, err = cluster.Namespace(cluster.Access{})
	return out, err
}

// names says whether an object of the record, Kind/namespace/name, is meant.
func (c called) names(object string) bool {
	kind, rest, _ := strings.Cut(object, "/")
	return rest == c.namespace+"/"+c.name && (c.kind == "" || c.kind == kind)
}

// whose is the gateway of an entry or, for what gateways share, whom it was made for.
func whose(e audit.Entry) string {
	if e.Gateway == "" && e.For.Kind != "" {
		return e.For.String()
	}
	return cmp.Or(e.Gateway, "-")
}
