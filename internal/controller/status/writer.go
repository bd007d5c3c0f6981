package status

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"gatehouse.dev/internal/translate"
)

// Manager is the field manager of all that we write.
const Manager = "gatehouse"

// tries are how often one patch is merged and written before its conflict becomes
// an error. With the pauses between them they take a second and a half at most.
const tries = 9

// atOnce is how many objects one call of [Writer.Write] writes to at a time. A gateway
// may have a thousand routes, and their first statuses take a round trip each; more at
// a time would be felt by whoever else uses the API server.
const atOnce = 8

// Config is what a Writer needs.
type Config struct {
	Client dynamic.Interface
	// Resource is the resource that serves a kind; false when its CRD is not
	// installed, so that there is nothing to write.
	Resource func(kind string) (schema.GroupVersionResource, bool)
	// Current is the last known version of an object, typed or unstructured, whole
	// and shared. What it does not know is read. Nil knows nothing. Like Wrote, it is
	// called by several goroutines at a time.
	Current func(translate.Key) (any, bool)
	// Wrote is told of every write that the API server accepted. Nil is nobody.
	Wrote func(translate.Key)
	Log   *slog.Logger
}

// Writer writes statuses. It is safe for use by several goroutines, which do not
// get in each other's way when they write to one object.
type Writer struct {
	config Config
	recent recent
	seed   maphash.Seed
	locks  [1024]sync.Mutex // by key
}

// New makes a writer.
func New(c Config) *Writer {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Writer{config: c, seed: maphash.MakeSeed()}
}

// Made says whether a version of an object is one that this writer made, or one from
// before that. It forgets what an informer knows already, so ask before that is told.
func (w *Writer) Made(key translate.Key, version string) bool { return w.recent.made(key, version) }

// Write brings statuses up to date, each on its own: one that cannot be written
// holds up none of the others, and all errors are returned together, in the order of
// the patches. Several objects are written to at a time; patches of one object are
// written in their order. Objects that are gone, or that are others by the same name,
// need nothing. An error leaves that status to the next pass; a conflict among them
// ([apierrors.IsConflict]) means that others wrote to the object all the time.
func (w *Writer) Write(ctx context.Context, patches []translate.Patch) error {
	turns := turnsOf(patches)
	failed := make([]error, len(patches))
	next := make(chan []int, len(turns))
	for _, turn := range turns {
		next <- turn
	}
	close(next)
	var group sync.WaitGroup
	for range min(atOnce, len(turns)) {
		group.Go(func() {
			for turn := range next {
				w.writeAll(ctx, patches, turn, failed)
			}
		})
	}
	group.Wait()
	return errors.Join(failed...)
}

// turnsOf are the places of each object's patches, in the order in which objects come.
func turnsOf(patches []translate.Patch) [][]int {
	var out [][]int
	at := make(map[translate.Key]int, len(patches))
	for i, p := range patches {
		turn, again := at[p.Key]
		if !again {
			turn = len(out)
			at[p.Key], out = turn, append(out, nil)
		}
		out[turn] = append(out[turn], i)
	}
	return out
}

// writeAll writes one object's patches one after the other, and notes what failed at
// the patch's own place.
func (w *Writer) writeAll(ctx context.Context, patches []translate.Patch, turn []int, failed []error) {
	for _, i := range turn {
		if err := w.write(ctx, patches[i]); err != nil {
			failed[i] = fmt.Errorf("status of %s: %w", patches[i].Key, err)
		}
	}
}

func (w *Writer) write(ctx context.Context, p translate.Patch) error {
	k, err := kindOf(p.Key.Kind)
	if err != nil {
		return err
	}
	r, ok := w.resource(p.Key)
	if !ok {
		return nil
	}
	base, err := statusOf(p.Base)
	if err != nil {
		return err
	}
	want, err := statusOf(p.Status)
	if err != nil {
		return err
	}
	lock := &w.locks[maphash.Comparable(w.seed, p.Key)%uint64(len(w.locks))]
	lock.Lock()
	defer lock.Unlock()
	err = w.settle(ctx, job{kind: k, key: p.Key, uid: p.UID, resource: r, base: base, want: want})
	if apierrors.IsNotFound(err) {
		w.recent.forget(p.Key)
		return nil
	}
	return err
}

// job is one patch on its way.
type job struct {
	kind
	key        translate.Key
	uid        string
	resource   resource
	base, want map[string]any
}

// settle merges and writes until nothing is left to write.
func (w *Writer) settle(ctx context.Context, j job) error {
	live, err := w.current(ctx, j)
	pause := wait.Backoff{Duration: 5 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: tries}
	for left := tries - 1; err == nil; left-- {
		merged := j.merge(j.base, j.want, live.status)
		if live.uid != j.uid || live.unfit(merged) || reflect.DeepEqual(merged, live.status) {
			return nil
		}
		refused := w.put(ctx, j, live, merged)
		if !outdated(refused) {
			return refused
		}
		if left == 0 {
			return fmt.Errorf("given up after %d tries: %w", tries, refused)
		}
		w.config.Log.Debug("status: the object has changed, reading it again", "object", j.key.String(), "tries", left)
		was := live.version
		if err = sleep(ctx, pause.Step()); err == nil {
			live, err = w.read(ctx, j)
		}
		if err == nil && live.version == was {
			return refused // for another reason than its version
		}
	}
	return err
}

// unfit says that a status is for what an object is no more: the API server takes no
// addresses for a Service that asks for none. The pass that sees that writes its own.
func (o object) unfit(status map[string]any) bool {
	ingress, _, _ := unstructured.NestedSlice(status, "loadBalancer", "ingress")
	return o.plain && len(ingress) > 0
}

// outdated says whether a write was, or may have been, refused because of the
// version that it was made for: an entry that is not where it was makes a JSON
// patch invalid.
func outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsInvalid(err) }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// put writes what a live version must become. What is no longer wanted and stays
// after an apply, since we were not its only owner, is taken away by itself.
func (w *Writer) put(ctx context.Context, j job, live object, merged map[string]any) error {
	if j.how == patched {
		_, err := w.wrote(j.key)(j.resource.patch(ctx, j.key, live.version, j.operations(live.status, merged)))
		return err
	}
	ours := j.own(merged)
	if j.key.Kind == translate.KindService && reflect.DeepEqual(j.base["loadBalancer"], j.want["loadBalancer"]) && !balances(merged) {
		delete(ours, "loadBalancer") // another controller's, which must be able to take it away
	}
	next, err := w.wrote(j.key)(j.resource.apply(ctx, j.key, live, ours))
	if err != nil {
		return err
	}
	rest := removals(j.operations(next.status, j.merge(j.base, j.want, next.status)))
	if len(rest) > 0 {
		_, err = w.wrote(j.key)(j.resource.patch(ctx, j.key, next.version, rest))
	}
	return err
}

// balances says whether a Service's status tells of a load balancer of ours, and not
// only of how routes reach it.
func balances(status map[string]any) bool {
	return slices.ContainsFunc(entriesOf(status["conditions"]), func(c map[string]any) bool {
		name, _ := c["type"].(string)
		return ownCondition(c) && !strings.HasSuffix(name, translate.CondBackendTLS)
	})
}

// wrote notes that a write begins, and takes what came of it.
func (w *Writer) wrote(key translate.Key) func(object, error) (object, error) {
	w.recent.begin(key)
	return func(next object, err error) (object, error) {
		defer w.recent.end(key)
		if err == nil {
			w.recent.put(key, next)
			if w.config.Wrote != nil {
				w.config.Wrote(key)
			}
		}
		return next, err
	}
}

// current is the newest version of an object that is known without asking, or
// else the one that is there.
func (w *Writer) current(ctx context.Context, j job) (object, error) {
	if w.config.Current == nil {
		return w.read(ctx, j)
	}
	obj, ok := w.config.Current(j.key)
	if !ok {
		return w.read(ctx, j)
	}
	known, err := objectOf(obj)
	if err != nil {
		return object{}, err
	}
	return w.recent.newest(j.key, known), nil
}

func (w *Writer) read(ctx context.Context, j job) (object, error) {
	obj, err := j.resource.client.Get(ctx, j.key.Name, metav1.GetOptions{})
	if err != nil {
		return object{}, err
	}
	return objectOf(obj)
}
