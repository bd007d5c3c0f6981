package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// Strictness says what a problem costs.
type Strictness string

// The choices. The zero value is Isolate.
const (
	Isolate   Strictness = ""          // a bad document costs itself
	RefuseAll Strictness = "RefuseAll" // one problem, and nothing is accepted
)

// Options say what to read and how.
type Options struct {
	Paths            []string  // files, folders, or "-" for Stdin; one named twice is read once
	Stdin            io.Reader // what "-" is
	Cluster          string    // becomes Snapshot.Cluster
	DefaultNamespace string    // of objects that name none; "" is "default"
	Strict           Strictness
	Limits           Limits
	Schemas          *Schemas // kept between loads, kinds are compiled once; nil is a fresh one
	// MeshKinds are the kinds that meshes are configured by (translate.Options.Reads).
	// They are taken as they stand: without a definition, nothing is checked but the
	// name.
	MeshKinds []schema.GroupVersionKind
	Now       time.Time // for the warning about ended certificates; zero is the clock's
}

// Loaded is what the files say.
type Loaded struct {
	Snapshot translate.Snapshot
	Keys     *Keys     // never nil
	Problems []Problem // sorted by place
	Warnings []Problem // sorted; nothing was left out because of them
	Skipped  []Kind    // kinds that mean nothing here, by name
	Files    []string  // what was read, in order

	// Incomplete says that something which may be an object was left out: the
	// absence of an object proves nothing, and nothing may be deleted because of
	// it. Bad names the objects among it, as far as they have a name.
	Incomplete bool
	Bad        []lbmodel.Source
	// Remains are the bad objects as far as they can be read. They are good for
	// one thing only: to find out what they may concern.
	Remains []any
	// Astray are the places of what was left out without a word on what it may
	// concern: anything. Restricting says that it may be a BackendTLSPolicy or a
	// MeshBinding, so that it is not safe even to make what is new: it could speak plain text.
	Astray      []Place
	Restricting bool
}

// Kind is a kind of object that was passed over.
type Kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Count      int    `json:"count"`
	First      Place  `json:"first"`
	// Checked says that it is a kind of our own, valid by its definition, that has
	// a meaning in a cluster only.
	Checked bool `json:"checked,omitzero"`
}

// Load reads manifests. Bad documents are problems in the result; an error says
// that there is no result to use: a path that is not there, a limit on the whole,
// a cancelled context, or, under RefuseAll, ErrRefused beside the result whose
// problems are the reason.
func Load(ctx context.Context, o Options) (*Loaded, error) {
	l := newLoader(o)
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	l.assemble()
	return l.finish()
}

type loader struct {
	Options

	kinds   map[groupKind]*kind
	items   []*item
	decoded int // of the items
	skipped map[schema.GroupVersionKind]*Kind
	// policies are the files that may hold a BackendTLSPolicy or a MeshBinding: the
	// kind stands in them somewhere, or they could not be read.
	policies map[string]bool
	loaded   *Loaded

	docs    int
	bytes   int64 // read so far
	pending int64 // of them, not decoded yet
	batch   int64 // how much may be pending
}

// defaultBatch is how much text waits to be decoded: enough that its kinds are
// compiled side by side, little enough that its nodes, fifty times as large, fit.
const defaultBatch = 16 << 20

func newLoader(o Options) *loader {
	o.Limits = o.Limits.orDefault()
	if o.DefaultNamespace == "" {
		o.DefaultNamespace = "default"
	}
	if o.Schemas == nil {
		o.Schemas = new(Schemas)
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return &loader{
		Options:  o,
		batch:    defaultBatch,
		kinds:    index(o.MeshKinds),
		skipped:  map[schema.GroupVersionKind]*Kind{},
		policies: map[string]bool{},
		loaded:   &Loaded{Snapshot: translate.Snapshot{Cluster: o.Cluster}},
	}
}

// read turns paths into decoded items.
func (l *loader) read(ctx context.Context) error {
	if len(l.Paths) == 0 {
		return errors.New("nothing to read: name a file, a folder, or - for standard input")
	}
	finder, err := find(l.Paths, l.Limits)
	if err != nil {
		return err
	}
	l.loaded.Problems = finder.problems
	if l.loaded.Incomplete = finder.partial; finder.partial {
		l.strays(finder.problems)
	}
	if len(finder.files) == 0 && !finder.partial {
		return fmt.Errorf("no manifests in %s: files end in .yaml, .yml or .json", strings.Join(l.Paths, ", "))
	}
	for _, file := range finder.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.file(file); err != nil {
			return err
		}
		if l.pending > l.batch {
			if err := l.decode(ctx); err != nil {
				return err
			}
		}
	}
	return l.decode(ctx)
}

// emptyFile: what an interrupted write leaves looks like this, and whoever wants
// no objects says so with a comment or without a file.
const (
	emptyFile  = "is empty; half written? If it shall hold nothing, remove it or write a comment (#) into it"
	emptyInput = "standard input is empty: did what writes to it fail? If it shall hold nothing, write a comment (#) into it"
)

func (l *loader) file(file found) error {
	text, err := read(file, l.Stdin, l.Limits)
	if err != nil {
		l.policies[file.path] = true
		l.bad(Problem{Place: Place{File: file.path}, Message: err.Error()})
		return nil
	}
	l.policies[file.path] = bytes.Contains(text, []byte(translate.KindBackendTLSPolicy)) || bytes.Contains(text, []byte(translate.KindMeshBinding))
	l.loaded.Files = append(l.loaded.Files, file.path)
	if len(bytes.TrimSpace(text)) == 0 {
		message := emptyFile
		if file.path == stdin {
			message = emptyInput
		}
		l.bad(Problem{Place: Place{File: file.path}, Message: message})
		return nil
	}
	l.pending += int64(len(text))
	if l.bytes += int64(len(text)); l.bytes > l.Limits.TotalBytes {
		return fmt.Errorf("the files hold more than %s in all: name fewer", bytesText(l.Limits.TotalBytes))
	}
	chunks, err := split(file.path, text)
	if err != nil {
		l.syntax(Place{File: file.path}, err)
	}
	for _, c := range chunks {
		if err := l.chunk(c); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) chunk(c chunk) error {
	roots, err := parse(c, l.Limits)
	if err != nil {
		l.syntax(c.place, err)
		return nil
	}
	for _, root := range roots {
		if l.docs++; l.docs > l.Limits.Documents {
			return fmt.Errorf("the files hold more than %d documents: name fewer", l.Limits.Documents)
		}
		c.place.Line = root.Line
		value, err := convert(root, l.Limits)
		if err != nil {
			l.syntax(c.place, err)
			continue
		}
		if value != nil {
			l.document(c.place, root, value)
		}
	}
	return nil
}

// document takes an object, or the objects of a list.
func (l *loader) document(place Place, root *yaml.Node, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		l.bad(Problem{Place: place, Message: "is no object: a manifest is a mapping with apiVersion, kind and metadata"})
		return
	}
	nodes, values, err := children(root, object)
	if err != nil {
		l.syntax(place, err)
		return
	}
	if nodes == nil && values == nil {
		l.object(place, root, object)
		return
	}
	for i, node := range nodes {
		place.Line = node.Line
		l.document(place, node, values[i])
	}
}

// object finds what an object is.
func (l *loader) object(place Place, root *yaml.Node, value map[string]any) {
	apiVersion, _ := value["apiVersion"].(string)
	name, _ := value["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if apiVersion == "" || name == "" || err != nil {
		l.bad(Problem{Place: place, Message: "says not what it is: apiVersion and kind are both needed, as in apiVersion: v1, kind: Service"})
		return
	}
	k, ok := l.kinds[groupKind{gv.Group, name}]
	if !ok {
		l.unknown(place, gv.WithKind(name), root, value)
		return
	}
	i := &item{place: place, root: root, value: value, kind: k, version: gv.Version}
	i.setNamespace(l.DefaultNamespace)
	i.identify()
	l.items = append(l.items, i)
}

func (l *loader) skip(place Place, gvk schema.GroupVersionKind) *Kind {
	k := l.skipped[gvk]
	if k == nil {
		k = &Kind{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, First: place}
		l.skipped[gvk] = k
	}
	k.Count++
	return k
}

// decode makes the objects of the items that wait, on all cores: their kinds'
// rules are compiled first, since that takes longest and every object waits for
// it.
func (l *loader) decode(ctx context.Context) error {
	waiting := l.items[l.decoded:]
	l.decoded, l.pending = len(l.items), 0
	if err := l.compile(waiting); err != nil {
		return err
	}
	decode := make([]func(), len(waiting))
	for n, i := range waiting {
		decode[n] = func() {
			if ctx.Err() == nil {
				i.decode(ctx, l.Schemas, l.Now)
			}
		}
	}
	parallel(decode)
	return ctx.Err()
}

func (l *loader) compile(items []*item) error {
	needed := map[*version]bool{}
	for _, i := range items {
		if i.kind.file == "" {
			continue
		}
		d, err := l.Schemas.definition(i.kind.file)
		if err != nil {
			return err
		}
		if v, ok := d.versions[i.version]; ok {
			needed[v] = true
		}
	}
	var compile []func()
	for v := range needed {
		compile = append(compile, v.warm)
	}
	parallel(compile)
	return nil
}

// parallel runs all of them and waits.
func parallel(all []func()) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		group.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(all) {
					return
				}
				all[n]()
			}
		})
	}
	group.Wait()
}

// bad notes a problem that left something out.
// bad leaves out something of which nobody can say what it concerns.
func (l *loader) bad(p Problem) {
	l.note(p)
	l.stray(p.Place)
}

// strays are files and folders that could not be read at all.
func (l *loader) strays(problems []Problem) {
	for _, p := range problems {
		l.policies[p.File] = true // maybe
		l.stray(p.Place)
	}
}

func (l *loader) stray(at Place) {
	l.loaded.Astray = append(l.loaded.Astray, at)
	l.loaded.Restricting = l.loaded.Restricting || l.policies[at.File]
}

func (l *loader) note(p Problem) {
	l.loaded.Incomplete = true
	l.loaded.Problems = append(l.loaded.Problems, p)
}

func (l *loader) syntax(place Place, err error) {
	if e, ok := errors.AsType[*syntaxError](err); ok {
		place.Line = e.line
	}
	l.bad(Problem{Place: place, Message: err.Error()})
}
