package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/internal/cli/cluster"
	"gatehouse.dev/internal/cli/term"
)

func (a *app) trust() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Show which roots are trusted, which certificates are shown, and how long",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.trustList(), a.trustTimeline())
	return cmd
}

const trustStates = `Where files are read, the cloud that they were applied to is asked what it holds:
Trusted and Live are there, Adding comes with the next apply, Removing stays until the
time that is told, for certificates under it may still be in use. Of a cluster, the
status of its MeshBindings says so; what no status tells is Published.`

func (a *app) trustList() *cobra.Command {
	var p place
	var within string
	f := readable()
	cmd := &cobra.Command{
		Use:   "list [-f FILE|DIR|- | --context CONTEXT]",
		Short: "List roots and leaves, the next to expire first",
		Long: `Lists the roots of each MeshBinding, BackendTLSPolicy and frontend, and the
certificates that gateways show, by when they end.

` + trustStates,
		Example: "  gatehouse trust list -f examples/mesh\n  gatehouse trust list --context prod --within 30d -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			limit, err := withinTime(within, now)
			if err != nil {
				return err
			}
			all, v, err := a.readTrust(cmd.Context(), p, now)
			if err != nil {
				return err
			}
			if !limit.IsZero() {
				all = endingBy(all, limit)
			}
			if f.forPeople() {
				a.printTrust(all, within)
			} else if err := writeData(a.out, f.value, all); err != nil {
				return err
			}
			return doubtful(v)
		},
	}
	a.addPlace(cmd, &p)
	cmd.Flags().StringVar(&within, "within", "", "only what ends within a span such as 30d or 12h")
	f.addTo(cmd, "how to print it")
	return cmd
}

func doubtful(v view) error {
	if v.doubt {
		return exit(exitError)
	}
	return nil
}

// withinTime reads a span of days (30d) or as Go has it.
func withinTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && days >= 0 && text == fmt.Sprintf("%dd", days) {
		return now.AddDate(0, 0, days), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, usagef("--within %q: want a span such as 30d or 12h", text)
	}
	return now.Add(d), nil
}

func (a *app) trustTimeline() *cobra.Command {
	var p place
	f := readable()
	cmd := &cobra.Command{
		Use:   "timeline [-f FILE|DIR|- | --context CONTEXT]",
		Short: "Draw how old and new roots and leaves follow one another",
		Long: `Draws a bar from the beginning to the end of each root and leaf, with the present
marked, so that one sees whether a new root was there before the leaves that need it, and
when an old one goes.

` + trustStates,
		Example: "  gatehouse trust timeline -f examples/mesh",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			all, v, err := a.readTrust(cmd.Context(), p, now)
			if err != nil {
				return err
			}
			if f.forPeople() {
				a.printTimeline(all, now)
			} else if err := writeData(a.out, f.value, all); err != nil {
				return err
			}
			return doubtful(v)
		},
	}
	a.addPlace(cmd, &p)
	f.addTo(cmd, "how to print it")
	return cmd
}

// readTrust is all that is trusted and shown, sorted by its end.
func (a *app) readTrust(ctx context.Context, p place, now time.Time) (_ []trusted, _ view, err error) {
	v, err := a.look(ctx, p, cluster.TLSSecrets)
	if err != nil {
		return nil, v, err
	}
	a.tellUnread(v)
	if v.live || len(v.index.Gateways()) == 0 {
		return trustOf(v, fromStatus(v), now), v, nil
	}
	e, err := a.observed(ctx, p, v)
	if err != nil {
		return nil, v, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	return trustOf(v, fromCloud(e), now), v, nil
}

// observed is an engine that has looked at what the cloud holds.
func (a *app) observed(ctx context.Context, p place, v view) (*engine, error) {
	where, err := a.state()
	if err != nil {
		return nil, err
	}
	o := Options{ReadOnly: true, StateDir: where.dir}
	if !where.exists() {
		o.StateDir = ""
	}
	e, err := a.open(ctx, o)
	if err != nil {
		return nil, err
	}
	if e.record, err = where.record(); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if err := e.take(ctx, v.loaded, v.options); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if _, err := e.loop.Plan(ctx, e.loop.Index().Gateways()); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (a *app) printTrust(all []trusted, within string) {
	if len(all) == 0 {
		if within != "" {
			a.out.Printf("Nothing ends within %s.\n", within)
			return
		}
		a.out.Println("No roots and no certificates.")
		return
	}
	t := term.Table{Header: []string{"ends", "left", "what", "of", "subject", "sha256", "state", "source"}}
	for _, x := range all {
		paint := x.paint()
		state := string(x.State)
		if x.Until != nil {
			state += " until " + x.Until.Format("2006-01-02 15:04")
		}
		t.Cells(term.Cell{Text: x.NotAfter.Format("2006-01-02 15:04")}, term.Cell{Text: left(x.Left), Paint: paint}, term.Cell{Text: strings.ToLower(string(x.What))},
			term.Cell{Text: x.Of, Paint: term.Bold}, term.Cell{Text: visible(x.Subject)}, term.Cell{Text: short(x.SHA256), Paint: term.Dim},
			term.Cell{Text: state, Paint: x.State.paint()}, term.Cell{Text: x.Source, Paint: term.Dim})
	}
	t.Print(a.out, "")
}

// left is a span for people, in days, or in hours where there are few.
func left(d time.Duration) string {
	days := int(d / (24 * time.Hour))
	switch {
	case d < 0:
		return "ended"
	case days < 2:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	default:
		return fmt.Sprintf("%dd", days)
	}
}
