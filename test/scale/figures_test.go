//go:build e2e

package scale

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// figure is one thing that was measured.
type figure struct {
	Name     string `json:"name"`
	Aim      string `json:"aim,omitzero"`
	Measured string `json:"measured"`
}

// figures are those of one test, in the order of their measuring.
type figures struct {
	t    *testing.T
	list []figure
}

// newFigures prints them all when the test ends, also when it has failed.
func newFigures(t *testing.T) *figures {
	f := &figures{t: t}
	t.Cleanup(f.print)
	return f
}

func (f *figures) add(name, aim, format string, args ...any) {
	f.list = append(f.list, figure{name, aim, fmt.Sprintf(format, args...)})
	f.t.Logf("%s: "+format, append([]any{name}, args...)...)
}

// atMost adds a count, and fails the test when it is above its aim.
func (f *figures) atMost(name string, aim, measured float64, unit string) {
	f.t.Helper()
	f.add(name, number(aim)+unit, "%s%s", number(measured), unit)
	if measured > aim {
		f.t.Errorf("%s: %s%s, want at most %s", name, number(measured), unit, number(aim))
	}
}

func number(n float64) string { return strings.TrimSuffix(fmt.Sprintf("%.2f", n), ".00") }

// times adds the median and the 99th percentile of samples.
func (f *figures) times(name string, samples []time.Duration) {
	slices.Sort(samples)
	for _, p := range []struct {
		percent int
		aim     string
	}{{50, "250 ms"}, {99, "1 s"}} {
		i := min(len(samples)-1, len(samples)*p.percent/100)
		f.add(fmt.Sprintf("%s, p%d of %d", name, p.percent, len(samples)), p.aim, "%d ms", samples[i].Milliseconds())
	}
}

func (f *figures) print() {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\taim\tmeasured")
	for _, each := range f.list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", each.Name, each.Aim, each.Measured)
	}
	if err := w.Flush(); err != nil {
		f.t.Error(err)
	}
	f.t.Logf("%s\n%s", f.t.Name(), out.String())
	if err := f.save(); err != nil {
		f.t.Error(err)
	}
}

// save adds the figures to those of other tests in the file.
func (f *figures) save() error {
	if *figuresFile == "" {
		return nil
	}
	all := map[string][]figure{}
	text, err := os.ReadFile(*figuresFile)
	if err == nil {
		err = json.Unmarshal(text, &all)
	} else if os.IsNotExist(err) {
		err = nil
	}
	if err != nil {
		return err
	}
	all[f.t.Name()] = f.list
	if text, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(*figuresFile, append(text, '\n'), 0o644)
}
