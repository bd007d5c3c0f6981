package probe

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Pace is how much a Prober dials; zero values are what their comments say.
type Pace struct {
	Sample    int           // endpoints of a group at a time; 3
	PerSecond float64       // dials in the long run; 10
	Fresh     time.Duration // how long an answer counts, then others of the group are asked; 10 minutes
	Again     time.Duration // likewise for an answer that is not well; 30 seconds
}

func (p Pace) withDefaults() Pace {
	p.Sample, p.PerSecond = cmp.Or(p.Sample, 3), cmp.Or(p.PerSecond, 10)
	p.Fresh, p.Again = cmp.Or(p.Fresh, 10*time.Minute), cmp.Or(p.Again, 30*time.Second)
	return p
}

// ProberConfig is what a Prober is made of. Dial is required.
type ProberConfig struct {
	Dial func(ctx context.Context, h Hop, address string) Result
	Pace Pace
	Now  func() time.Time // nil is time.Now
}

// Prober dials a few endpoints of each group that somebody asks about, and remembers
// what came of it: an endpoint that is known is dialled again only slowly, in turn
// with the others of its group. What nobody asks about any more is forgotten. It may
// be used by many goroutines.
type Prober struct {
	config ProberConfig
	pace   *rate.Limiter
	wake   chan struct{}
	work   sync.Mutex // one dials at a time

	mu   sync.Mutex
	asks map[string]map[string]*asked // by asker and name
	news map[string]bool              // askers that asked something else, by which something is other than before
}

// NewProber makes one that knows of nothing.
func NewProber(c ProberConfig) *Prober {
	c.Pace = c.Pace.withDefaults()
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Prober{
		config: c, pace: rate.NewLimiter(rate.Limit(c.Pace.PerSecond), atOnce),
		wake: make(chan struct{}, 1), asks: map[string]map[string]*asked{}, news: map[string]bool{},
	}
}

// Want says all that an asker wants to know, in place of what it wanted before; none
// is nothing any more.
func (p *Prober) Want(asker string, asks []Ask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.asks[asker]
	next := make(map[string]*asked, len(asks))
	for _, a := range asks {
		next[a.Name] = before[a.Name].ask(a)
	}
	if delete(p.asks, asker); len(asks) > 0 {
		p.asks[asker] = next
	}
	for name, was := range before {
		p.news[asker] = p.news[asker] || !p.view(was).tells(p.view(next[name]))
	}
	if len(before)+len(next) == 0 {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Askers are those who want to know something, sorted.
func (p *Prober) Askers() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.asks))
}

// Sights are what is known of an asker's groups, by Ask.Name.
func (p *Prober) Sights(asker string) map[string]Sight {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]Sight, len(p.asks[asker]))
	for name, a := range p.asks[asker] {
		out[name] = p.view(a)
	}
	return out
}

// view is what is known now; of nothing that is asked, nothing.
func (p *Prober) view(a *asked) Sight {
	if a == nil {
		return Sight{}
	}
	return a.sight(p.config.Pace.Sample)
}

// atOnce is how many are dialled side by side.
const atOnce = 16

// most is how many dials are one piece of work.
const most = 4 * atOnce

// Work makes some of the dials that are due. It returns the askers for whom something
// is other than before, and whether there may be more to do.
func (p *Prober) Work(ctx context.Context) (changed []string, more bool) {
	p.work.Lock()
	defer p.work.Unlock()
	jobs := p.due()
	if more = len(jobs) > most; more {
		jobs = jobs[:most]
	}
	news := make([]bool, len(jobs))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, j := range jobs {
		if p.pace.Wait(ctx) != nil {
			break
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			result := p.config.Dial(ctx, j.hop, j.address)
			news[i] = ctx.Err() == nil && p.note(j, result)
		})
	}
	all.Wait()
	changed = p.heard()
	for i, j := range jobs {
		if news[i] && !slices.Contains(changed, j.asker) {
			changed = append(changed, j.asker)
		}
	}
	return changed, more && ctx.Err() == nil
}

// heard are the askers for whom a question was news, once.
func (p *Prober) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for asker, news := range p.news {
		if news {
			out = append(out, asker)
		}
	}
	clear(p.news)
	slices.Sort(out)
	return out
}

// Run works until ctx ends, and tells who must look anew.
func (p *Prober) Run(ctx context.Context, tell func(askers []string)) {
	tick := time.NewTicker(p.config.Pace.Again)
	defer tick.Stop()
	for ctx.Err() == nil {
		changed, more := p.Work(ctx)
		if len(changed) > 0 {
			tell(changed)
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-p.wake:
		}
	}
}

// job is one dial.
type job struct {
	asker, name, address string
	key                  string // of the hop
	hop                  Hop
	at                   time.Time // of the last answer; zero is none to this hop
}

// due are the dials to be made now: first what nobody knows, then what was not looked
// at for the longest time.
func (p *Prober) due() []job {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []job
	for _, asker := range slices.Sorted(maps.Keys(p.asks)) {
		for _, name := range slices.Sorted(maps.Keys(p.asks[asker])) {
			a := p.asks[asker][name]
			for _, address := range a.due(p.config.Pace, p.config.Now()) {
				out = append(out, job{asker, name, address, a.key, a.Hop, a.last(address)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b job) int { return a.at.Compare(b.at) })
	return out
}

// note takes an answer, and says whether it is news.
func (p *Prober) note(j job, r Result) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.asks[j.asker][j.name]
	if a == nil || a.key != j.key || !slices.Contains(a.addresses, j.address) {
		return false // nobody asks any more
	}
	before := p.view(a)
	r.Earlier = a.answers[j.address].earlier(j.key)
	a.answers[j.address] = answer{key: j.key, leaf: j.hop.leaf(), at: p.config.Now(), result: r}
	after := p.view(a)
	a.told = after.Told
	return !before.same(after)
}
