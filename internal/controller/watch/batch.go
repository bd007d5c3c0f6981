package watch

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/translate"
)

// Batch is what became known since the batch before.
type Batch struct {
	// First is true once: the change is then everything there is.
	First bool
	translate.Change
	// Plans are the GatewayPlans that changed, nil for those that are gone.
	Plans map[types.NamespacedName]*v1alpha1.GatewayPlan
	Facts Facts
	Since time.Time // when the first event of the batch came
}

// Facts are what translate.Options say of a cluster.
type Facts struct {
	VersionProblem string // why the installed CRDs of Gateway API are none that we know
	NoTrustBundles bool   // ClusterTrustBundles are not served
}

// settleFor is how long a batch waits for what comes with its first event: a
// rollout's slices and pods arrive together, and are translated once.
const settleFor = 4 * time.Millisecond

// pending are the events that nobody has taken yet: of each object the last one.
type pending struct {
	mu      sync.Mutex
	objects map[translate.Key]any // nil: it is gone
	order   []translate.Key
	since   time.Time
	facts   Facts
	news    bool // there is something to take, be it only new facts
	synced  bool
	taken   bool // the first batch
	signal  chan struct{}
}

func newPending() *pending {
	return &pending{objects: map[translate.Key]any{}, signal: make(chan struct{}, 1)}
}

// note takes an event.
func (p *pending) note(key translate.Key, obj any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.objects[key]; !known {
		p.order = append(p.order, key)
	}
	p.objects[key] = obj
	p.tell()
}

// learn takes the facts as they are now.
func (p *pending) learn(f Facts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.facts != f {
		p.facts = f
		p.tell()
	}
}

// nudge is a batch without an event.
func (p *pending) nudge() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell()
}

// complete says that everything there is has been noted.
func (p *pending) complete() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced = true
	p.tell()
}

func (p *pending) tell() {
	if !p.news {
		p.news, p.since = true, time.Now()
	}
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// next waits for a batch.
func (p *pending) next(ctx context.Context) (Batch, error) {
	for !p.ready() {
		select {
		case <-p.signal:
		case <-ctx.Done():
			return Batch{}, ctx.Err()
		}
	}
	select {
	case <-time.After(settleFor):
	case <-ctx.Done():
		return Batch{}, ctx.Err()
	}
	return p.take(), nil
}

func (p *pending) ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.synced && (p.news || !p.taken)
}

func (p *pending) take() Batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := Batch{First: !p.taken, Facts: p.facts, Since: p.since, Plans: map[types.NamespacedName]*v1alpha1.GatewayPlan{}}
	for _, key := range p.order {
		obj := p.objects[key]
		plan, _ := obj.(*v1alpha1.GatewayPlan)
		switch {
		case key.Kind == kube.KindPlan:
			b.Plans[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}] = plan
		case obj == nil:
			b.Delete = append(b.Delete, key)
		default:
			b.Put = append(b.Put, obj)
		}
	}
	p.objects, p.order, p.news, p.taken = map[translate.Key]any{}, nil, false, true
	return b
}
