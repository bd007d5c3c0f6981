package rootsync

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/roots"
)

// Memory is what outlives a process. All of it is public.
type Memory struct {
	Bundles  map[string][]roots.Bundle // of each place: Sync.Remember
	Bindings map[string]Binding        // by name
}

// Binding is what is remembered of a MeshBinding.
type Binding struct {
	Roots []lbmodel.Root // the last good ones, from wherever they came
	// Seen is since when each root is known to be published, by its key: see
	// issue.Published.
	Seen map[string]time.Time
}

const (
	// Gap is how long nobody may have looked before the times in a Memory say nothing:
	// a root may have gone and come again meanwhile, and proxies with it.
	Gap = 24 * time.Hour
	// Restamp is how often a Memory is written although nothing changed, so that it is
	// known when somebody looked last.
	Restamp = Gap / 4
	// MaxText bounds the text of a Memory, in bytes: a ConfigMap holds one MiB.
	MaxText = 768 << 10

	version    = 1
	maxProblem = 500             // bytes that are kept of one
	settled    = time.Hour       // a problem that lasts longer is worth a write
	ahead      = 5 * time.Minute // that clocks may differ
)

// record is a Memory as it is written. Roots are written once, whoever has them.
type record struct {
	Version  int                       `json:"version"`
	Cluster  string                    `json:"cluster"`
	Written  time.Time                 `json:"written"`
	Roots    map[string]string         `json:"roots,omitempty"` // PEM by SHA-256
	Bindings map[string]bindingRecord  `json:"bindings,omitempty"`
	Bundles  map[string][]bundleRecord `json:"bundles,omitempty"`
}

type bindingRecord struct {
	Roots []string             `json:"roots,omitempty"`
	Seen  map[string]time.Time `json:"seen,omitempty"`
}

type bundleRecord struct {
	Domain   string    `json:"domain"`
	Roots    []string  `json:"roots"`
	Sequence uint64    `json:"sequence,omitzero"`
	At       time.Time `json:"at"`
	Problem  string    `json:"problem,omitzero"`
	Since    time.Time `json:"since,omitzero"`
}

// Encode writes a Memory, for a cluster's name. What does not fit is left out, and
// named: it begins anew after a restart.
func Encode(m Memory, cluster string, now time.Time) (text []byte, left []string, err error) {
	r := record{
		Version: version, Cluster: cluster, Written: now.UTC().Truncate(time.Second),
		Roots: map[string]string{}, Bindings: map[string]bindingRecord{}, Bundles: map[string][]bundleRecord{},
	}
	room := MaxText
	for _, name := range slices.Sorted(maps.Keys(m.Bindings)) {
		b := m.Bindings[name]
		if !r.hold(b.Roots, &room, 512+160*len(b.Seen)) {
			left = append(left, "MeshBinding "+name)
			continue
		}
		r.Bindings[name] = bindingRecord{sums(b.Roots), utc(b.Seen)}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Bundles)) {
		for _, b := range m.Bundles[name] {
			if len(b.Roots) == 0 {
				continue
			}
			if !r.hold(b.Roots, &room, 2048) {
				left = append(left, name)
				continue
			}
			r.Bundles[name] = append(r.Bundles[name], recordOf(b))
		}
	}
	text, err = json.Marshal(r, json.Deterministic(true))
	return text, left, err
}

// hold takes roots into the record if there is room for them and for what else is said.
func (r *record) hold(all []lbmodel.Root, room *int, besides int) bool {
	need := besides
	for _, root := range all {
		if need += 80; r.Roots[root.SHA256] == "" {
			need += len(root.PEM) + len(root.PEM)/16 + 80 // ends of lines are two bytes in JSON
		}
	}
	if need > *room {
		return false
	}
	*room -= need
	for _, root := range all {
		r.Roots[root.SHA256] = root.PEM
	}
	return true
}

func recordOf(b roots.Bundle) bundleRecord {
	problem := b.Problem
	if len(problem) > maxProblem {
		problem = problem[:maxProblem]
	}
	return bundleRecord{Domain: b.Name, Roots: sums(b.Roots), Sequence: b.Sequence, At: b.At.UTC(), Problem: problem, Since: b.Since.UTC()}
}

func sums(all []lbmodel.Root) (out []string) {
	for _, r := range all {
		out = append(out, r.SHA256)
	}
	return out
}

func utc(times map[string]time.Time) map[string]time.Time {
	out := map[string]time.Time{}
	for key, t := range times {
		full := t.UTC().Truncate(time.Second)
		if full.Before(t) { // never earlier
			full = full.Add(time.Second)
		}
		out[key] = full
	}
	return out
}

// Decode reads a Memory of a cluster's name. What is not whole, or somebody else's, is
// an error, and nothing of it counts. Times of which nobody can say whether they still
// hold are left out, and those that lie ahead are now.
func Decode(text []byte, cluster string, now time.Time) (Memory, error) {
	var r record
	if len(text) > MaxText+MaxText/4 {
		return Memory{}, errors.New("it is larger than any that was written here")
	}
	switch err := json.Unmarshal(text, &r, json.RejectUnknownMembers(true)); {
	case err != nil:
		return Memory{}, errors.New("it cannot be read")
	case r.Version != version:
		return Memory{}, fmt.Errorf("it is of version %d, and not of %d", r.Version, version)
	case r.Cluster != cluster:
		return Memory{}, fmt.Errorf("it is of cluster %q, and not of %q", r.Cluster, cluster)
	}
	known, err := r.parse()
	if err != nil {
		return Memory{}, err
	}
	m := Memory{Bundles: map[string][]roots.Bundle{}, Bindings: map[string]Binding{}}
	fresh := now.Sub(r.Written) <= Gap && r.Written.Sub(now) <= ahead
	for name, b := range r.Bindings {
		kept := Binding{Seen: map[string]time.Time{}}
		if kept.Roots, err = pick(known, b.Roots); err != nil {
			return Memory{}, err
		}
		if fresh {
			for key, t := range b.Seen {
				kept.Seen[key] = earlier(t, now)
			}
		}
		m.Bindings[name] = kept
	}
	for name, list := range r.Bundles {
		for _, b := range list {
			found, err := pick(known, b.Roots)
			if err != nil {
				return Memory{}, err
			}
			kept := roots.Bundle{Name: b.Domain, Roots: found, Sequence: b.Sequence, At: earlier(b.At, now), Problem: b.Problem, Since: earlier(b.Since, now)}
			m.Bundles[name] = append(m.Bundles[name], kept)
		}
		slices.SortFunc(m.Bundles[name], func(a, b roots.Bundle) int { return cmp.Compare(a.Name, b.Name) })
	}
	return m, nil
}

// parse reads the roots of a record. Each must be what it is called.
func (r record) parse() (map[string]lbmodel.Root, error) {
	known := map[string]lbmodel.Root{}
	for sum, text := range r.Roots {
		found, err := lbmodel.ParseRoots([]byte(text))
		if err != nil || len(found) != 1 || found[0].SHA256 != sum {
			return nil, errors.New("one of its roots is not what it is called")
		}
		known[sum] = found[0]
	}
	return known, nil
}

func pick(known map[string]lbmodel.Root, sums []string) (out []lbmodel.Root, _ error) {
	for _, sum := range sums {
		root, ok := known[sum]
		if !ok {
			return nil, errors.New("one of its roots is missing")
		}
		out = append(out, root)
	}
	return out, nil
}

func earlier(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return t
}

// Digest is equal for two Memories of which the second need not be written: it is about
// which roots there are, which sequences, since when roots are known, and which places
// cannot be read for long.
func Digest(m Memory, now time.Time) [sha256.Size]byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m.Bindings)) {
		b := m.Bindings[name]
		fmt.Fprintf(h, "%q %q\n", name, sums(b.Roots))
		for _, key := range slices.Sorted(maps.Keys(b.Seen)) {
			fmt.Fprintf(h, "%q %d\n", key, b.Seen[key].Unix())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Bundles)) {
		for _, b := range m.Bundles[name] {
			since := int64(0)
			if b.Problem != "" && now.Sub(b.Since) >= settled {
				since = b.Since.Unix()
			}
			fmt.Fprintf(h, "%q %q %q %d %d\n", name, b.Name, sums(b.Roots), b.Sequence, since)
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// EntryName is how a ConfigMap's entry is called that has the Memory of a manager of a
// cluster, known by the names of its controllers: several managers may share the
// namespace.
func EntryName(cluster string, controllers []string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", cluster, slices.Sorted(slices.Values(controllers))))
	return hex.EncodeToString(sum[:8]) + ".json"
}
