package mesh

import (
	"fmt"
	"os"
	"sync"
	"text/tabwriter"
)

// figures are those of all tests, printed when they are over.
var figures table

// table is lines of figures under their headings. It may be used by many goroutines.
type table struct {
	mu    sync.Mutex
	lines map[string][]string // by heading
}

// The headings, in the order of printing.
const (
	headRotations = "rotation\trequests\tfailed\tunverified\trefused\ttrust\tcertificate\ton schedule\tissued\tgateway's handshakes\tpods'"
	headMoves     = "move, pod by pod\trequests\tfailed\trefused, reset\tprovider changes"
	headStill     = "nothing changes\tprovider changes\tissued"
	headMany      = "many\tgateways\ttook\tasked in a second, most\tallowed\tcloud calls in a second, most\tallowed"
)

func (f *table) add(heading string, columns ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines == nil {
		f.lines = map[string][]string{}
	}
	line := ""
	for i, c := range columns {
		if i > 0 {
			line += "\t"
		}
		line += fmt.Sprint(c)
	}
	f.lines[heading] = append(f.lines[heading], line)
}

// rotation adds what a rotation cost.
func (f *table) rotation(name string, r run, steps []step) {
	gateway, pods := r.w.byRoot(r.root)
	f.add(headRotations, name, r.requests, total(r.failed), r.w.unverified(), r.refused,
		r.mutations["UpdateTrust"], r.mutations["UpdateCertificate"]-scheduled(steps), scheduled(steps), r.issued,
		told(gateway), told(pods))
}

func (f *table) print() {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, heading := range []string{headRotations, headMoves, headStill, headMany} {
		if len(f.lines[heading]) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", heading)
		for _, line := range f.lines[heading] {
			fmt.Fprintln(w, line)
		}
	}
	if err := w.Flush(); err != nil {
		fmt.Println(err)
	}
}
