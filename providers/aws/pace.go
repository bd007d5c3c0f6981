package aws

import (
	"context"
	"strings"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"gatehouse.dev/providers"
)

// pacing stands in front of every attempt of every request, retries too.
type pacing struct{ pacer providers.Pacer }

func (p pacing) addTo(stack *middleware.Stack) error {
	return stack.Finalize.Insert(p, "Retry", middleware.After)
}

// ID implements middleware.FinalizeMiddleware.
func (pacing) ID() string { return "Gatehouse/Pacing" }

// HandleFinalize implements middleware.FinalizeMiddleware.
func (p pacing) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	op := Paced(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx))
	if p.pacer != nil {
		if err := p.pacer.Wait(ctx, op); err != nil {
			return middleware.FinalizeOutput{}, middleware.Metadata{}, err
		}
	}
	out, metadata, err := next.HandleFinalize(ctx, in)
	if told, ok := p.pacer.(throttled); ok && err != nil && isThrottle(err) {
		told.Throttled(op)
	}
	if err != nil && !reads(op) && mayHaveHappened(err) {
		err = unsure{err}
	}
	return out, metadata, err
}

// throttled is a Pacer that wants to know what its estimate was worth.
type throttled interface{ Throttled(op string) }

// Paced is the name of an API request to a Pacer, such as "elb:CreateRule". They are
// unlike an Account's own names, which have no colon.
func Paced(service, operation string) string {
	switch service {
	case "Elastic Load Balancing v2":
		return "elb:" + operation
	case "Resource Groups Tagging API":
		return "tagging:" + operation
	default: // ACM, EC2, S3, STS
		return strings.ToLower(service) + ":" + operation
	}
}

// reads says whether a request changes nothing.
func reads(op string) bool {
	_, operation, _ := strings.Cut(op, ":")
	for _, verb := range [...]string{"Describe", "Get", "List", "Head"} {
		if strings.HasPrefix(operation, verb) {
			return true
		}
	}
	return operation == "AssumeRole" || operation == "AssumeRoleWithWebIdentity"
}

// The token buckets of Elastic Load Balancing, each of an account and region. Every
// request takes a token of bucketAccount and one of its own
// [userguide/elb-api-throttling].
const (
	bucketAccount     = "account"
	bucketHeavy       = "heavy"
	bucketTargets     = "targets"
	bucketReads       = "reads"
	bucketMutate      = "mutate"
	bucketCreateTrust = "create-trust"
	bucketModifyTrust = "modify-trust"
	bucketGetTrust    = "get-trust"
	bucketReadTrust   = "read-trust"
)

// bucketSizes are their sizes.
var bucketSizes = map[string]providers.Quota{
	bucketAccount:     {PerSecond: 10, Burst: 40},
	bucketHeavy:       {PerSecond: 0.2, Burst: 10},
	bucketTargets:     {PerSecond: 4, Burst: 20},
	bucketReads:       {PerSecond: 10, Burst: 40},
	bucketMutate:      {PerSecond: 3, Burst: 20},
	bucketCreateTrust: {PerSecond: 0.2, Burst: 10},
	bucketModifyTrust: {PerSecond: 0.2, Burst: 10},
	bucketGetTrust:    {PerSecond: 4, Burst: 20},
	bucketReadTrust:   {PerSecond: 10, Burst: 40},
}

// background is how many tokens of the account's bucket looks in the background leave
// to edits: as many as the burst of changes that AWS grants.
const background = 20

// bucketOf is the bucket of a request; "" is none. Other services either do not say
// how large theirs are, or have larger ones than load balancers need.
func bucketOf(op string) string {
	service, operation, _ := strings.Cut(op, ":")
	switch {
	case service != "elb":
		return ""
	case operation == "CreateLoadBalancer" || operation == "SetSubnets":
		return bucketHeavy
	case operation == "RegisterTargets" || operation == "DeregisterTargets":
		return bucketTargets
	case strings.HasPrefix(operation, "GetTrustStore") || operation == "GetResourcePolicy":
		return bucketGetTrust
	case strings.HasPrefix(operation, "DescribeTrustStore"):
		return bucketReadTrust
	case operation == "CreateTrustStore":
		return bucketCreateTrust
	case strings.Contains(operation, "TrustStore"):
		return bucketModifyTrust
	case reads(op):
		return bucketReads
	default:
		return bucketMutate
	}
}

// Pacer keeps a region's requests within AWS's token buckets. Edits wait in the order
// in which they come. Looks in the background go when the account's bucket has more
// than the edits of the next moment could need. One Pacer is for all providers of an
// account and region in a process; it is safe for concurrent use.
type Pacer struct {
	clock providers.Clock

	mu      sync.Mutex
	buckets map[string]*bucket
}

// bucket is a token bucket. Tokens below zero are promised to who waits.
type bucket struct {
	quota  providers.Quota
	tokens float64
	at     time.Time
}

// NewPacer makes a Pacer with full buckets. The zero clock is the real one.
func NewPacer(clock providers.Clock) *Pacer {
	if clock.Now == nil {
		clock.Now = time.Now
	}
	if clock.After == nil {
		clock.After = time.After
	}
	p := &Pacer{clock: clock, buckets: map[string]*bucket{}}
	now := clock.Now()
	for name, q := range bucketSizes {
		p.buckets[name] = &bucket{quota: q, tokens: float64(q.Burst), at: now}
	}
	return p
}

// Wait implements providers.Pacer.
func (p *Pacer) Wait(ctx context.Context, op string) error {
	own := bucketOf(op)
	if own == "" {
		return ctx.Err()
	}
	for {
		wait, mine := p.take(own, keptFree(ctx))
		if wait > 0 {
			select {
			case <-p.clock.After(wait):
			case <-ctx.Done():
				if mine {
					p.giveBack(own)
				}
				return ctx.Err()
			}
		}
		if mine {
			return ctx.Err()
		}
	}
}

// keptFree are the tokens of the account that a request leaves to others: one in the
// background leaves what edits may need.
func keptFree(ctx context.Context) float64 {
	if providers.IsBackground(ctx) {
		return background
	}
	return 0
}

// take says how long a request waits, and whether it has its tokens then. One that
// leaves some to others does not while it waits: it asks again.
func (p *Pacer) take(own string, free float64) (wait time.Duration, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	account, class := p.buckets[bucketAccount], p.buckets[own]
	wait = max(account.until(now, 1+free), class.until(now, 1))
	if free > 0 && wait > 0 {
		return wait, false
	}
	account.tokens--
	class.tokens--
	return wait, true
}

// until fills the bucket and says when it has so many tokens, beside those that are
// promised.
func (b *bucket) until(now time.Time, tokens float64) time.Duration {
	if passed := now.Sub(b.at); passed > 0 {
		b.tokens = min(float64(b.quota.Burst), b.tokens+passed.Seconds()*b.quota.PerSecond)
		b.at = now
	}
	if b.tokens >= tokens {
		return 0
	}
	// A nanosecond more than computed: what is rounded down would come too early.
	return time.Duration((tokens-b.tokens)/b.quota.PerSecond*float64(time.Second)) + 1
}

// giveBack returns the tokens of a request that was not made.
func (p *Pacer) giveBack(own string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buckets[bucketAccount].tokens++
	p.buckets[own].tokens++
}

// Throttled tells that AWS refused a request that had its token: others use the
// account too, so the bucket is empty.
func (p *Pacer) Throttled(op string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.buckets[bucketOf(op)]; b != nil {
		b.until(p.clock.Now(), 0)
		b.tokens = min(b.tokens, 0)
	}
}
