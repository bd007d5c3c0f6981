package issue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"errors"
	"slices"
	"time"

	"gatehouse.dev/internal/turns"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

const op = "Issue" // where errors come from

// maxWait is how long a Pending error asks to wait at most: a gate may open at any
// time, and a look costs nothing.
const maxWait = 5 * time.Minute

// Keyring answers for identities that a mesh's CA issues. An identity without a Leaf
// gets a certificate that was verified: our key, exactly its names, for client
// authentication, valid now, under a root that its mesh publishes, in a chain
// from which roots are cut off. The same one is given again until it is live, so that a step which
// failed behind us does not cost another; and an identity with a Leaf gets that
// one as long as it is remembered, which is for half of its life.
//
// Errors are lbmodel.Errors that name the identity: Pending while backends do not
// trust the authority of a new certificate (see MaySwitch), Denied for an answer that
// is not believed, Throttled when the issuer's quota is used up, Conflict for a Leaf
// that is not remembered or for authorities that have changed since the plan was made, Unresolved without roots, Unsupported for an identity that
// is not issued, and whatever the issuer says. None holds a byte of a key.
func Keyring(c Config) func(context.Context, lbmodel.Identity) (tls.Certificate, error) {
	return newKeyring(c).pair
}

type keyring struct {
	config  Config
	held    *held
	turns   turns.Turns
	pace    *pace
	makeKey func() (*ecdsa.PrivateKey, error)
}

func newKeyring(c Config) *keyring {
	c = c.withDefaults()
	return &keyring{config: c, held: newHeld(c.Held), pace: newPace(c.Quota), makeKey: newKey}
}

func (k *keyring) pair(ctx context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	got, err := k.answer(ctx, id)
	if err != nil {
		return tls.Certificate{}, about(id, err)
	}
	return got.pair(), nil
}

func (k *keyring) answer(ctx context.Context, id lbmodel.Identity) (*candidate, error) {
	if err := checkIdentity(id); err != nil {
		return nil, err
	}
	if id.Leaf != nil {
		return k.exact(id)
	}
	release, err := k.turns.Take(ctx, slotOf(id)) // two calls for one identity get one certificate
	if err != nil {
		return nil, err
	}
	defer release()
	live, err := k.config.Live(id)
	if err != nil {
		return nil, err
	}
	got, roots, err := k.candidate(ctx, id, live)
	if err != nil {
		return nil, err
	}
	if !id.Renew.Accepts(got.leaf) { // but it verifies, so the roots have changed
		return nil, outdated("the new certificate leads to authority %s, which was not published when the plan was made: plan again", got.leaf.Authority)
	}
	return got, k.gate(id, live, got.leaf, roots)
}

// checkIdentity refuses what cannot be issued before anybody is asked.
func checkIdentity(id lbmodel.Identity) error {
	switch {
	case id.Issuer == lbmodel.IssuerSecret || id.Issuer == "":
		return refusal(lbmodel.CodeUnsupported, "it is kept in a Secret: nobody issues it")
	case id.KeyType != "" && id.KeyType != KeyType:
		return refusal(lbmodel.CodeUnsupported, "keys of type %q are not made, only %s", id.KeyType, KeyType)
	case id.SPIFFEID == "" && len(id.DNSNames) == 0:
		return refusal(lbmodel.CodeInvalid, "it has no name")
	}
	return nil
}

// exact is the certificate that an identity holds, if we remember it. A conflict
// leads to a new plan, and that to a new certificate.
func (k *keyring) exact(id lbmodel.Identity) (*candidate, error) {
	got := k.held.get(slotOf(id), k.config.Now())
	if got == nil || got.leaf.SHA256 != id.Leaf.SHA256 {
		return nil, outdated("the key of certificate %.16s is not here any more: plan again", id.Leaf.SHA256)
	}
	return got, nil
}

// candidate is the newest certificate that is not live yet: one that is held and
// still good, or a new one. The roots are those under which it verifies.
func (k *keyring) candidate(ctx context.Context, id lbmodel.Identity, live *lbmodel.Leaf) (*candidate, []lbmodel.Root, error) {
	roots := k.config.Roots(id.Issuer)
	if len(roots) == 0 {
		return nil, nil, refusal(lbmodel.CodeUnresolved, "the roots of %s are not known, so nothing that it signs can be verified", id.Issuer)
	}
	if got := k.held.get(slotOf(id), k.config.Now()); got != nil && (live == nil || live.SHA256 != got.leaf.SHA256) {
		if under, err := k.verify(id, got, roots); err == nil && !id.Renew.Left(got.leaf) {
			return got, under, nil
		}
		k.held.drop(slotOf(id))
	}
	got, err := k.ask(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	under, err := k.verify(id, got, k.config.Roots(id.Issuer)) // they may have changed meanwhile
	if err != nil {
		// Not tried again at once: each try is a certificate.
		return nil, nil, refusal(lbmodel.CodeDenied, "what %s signed is not taken: %w", id.Issuer, err)
	}
	if live != nil && live.SHA256 == got.leaf.SHA256 { // only a Holder can do that
		wait := refusal(lbmodel.CodePending, "%s has no newer certificate than the live one, which ends at %s", id.Issuer, stamp(live.NotAfter))
		wait.RetryAfter = maxWait
		return nil, nil, wait
	}
	k.held.put(slotOf(id), got, k.config.Now())
	return got, under, nil
}

// ask has a request signed. One that its issuer may have, and has not signed, is asked
// about again with the same key.
func (k *keyring) ask(ctx context.Context, id lbmodel.Identity) (*candidate, error) {
	issuer, account, err := k.config.Issuers(id)
	if err != nil {
		return nil, err
	}
	if err := k.pace.awake(id.Issuer, k.config.Now()); err != nil {
		return nil, err
	}
	if err := k.pace.wait(ctx, id.Issuer); err != nil {
		return nil, err
	}
	if holder, ok := issuer.(Holder); ok {
		return k.fetch(ctx, holder, meshsync.Request{Identity: id, Account: account})
	}
	request := k.held.request(slotOf(id), k.config.Now())
	if request == nil {
		if request, err = k.request(id); err != nil {
			return nil, err
		}
	}
	issued, err := k.call(ctx, issuer, meshsync.Request{
		Identity: id, Account: account, CSR: bytes.Clone(request.csr), Lifetime: time.Duration(id.Renew.Lifetime),
	})
	if stays(err) {
		k.held.wait(slotOf(id), request, k.config.Now())
	} else {
		k.held.forget(slotOf(id))
	}
	if err != nil {
		return nil, err
	}
	if slices.Contains(issued.Chain, nil) { // an issuer that breaks its law
		issued.Chain = nil
	}
	return newCandidate(request.key, trim(issued.Chain, k.config.Roots(id.Issuer))), nil
}

// stays says whether a request may be there still: it is open, its answer was lost, or
// it was refused and the issuer says when to look again. Another would be signed, or
// refused, beside it.
func stays(err error) bool {
	switch lbmodel.CodeOf(err) {
	case lbmodel.CodePending, lbmodel.CodeUnavailable, lbmodel.CodeThrottled:
		return true
	}
	e, ok := errors.AsType[*lbmodel.Error](err)
	return ok && e.RetryAfter > 0
}

func (k *keyring) call(ctx context.Context, issuer meshsync.Issuer, r meshsync.Request) (meshsync.Issued, error) {
	ctx, cancel := context.WithTimeout(ctx, k.config.Timeout)
	defer cancel()
	issued, err := issuer.Issue(ctx, r)
	// The server may say first that the time is over.
	if err != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded)) {
		k.pace.silent(r.Identity.Issuer, k.config.Now())
		return meshsync.Issued{}, refusal(lbmodel.CodeUnavailable, "%s did not answer in time: %w", r.Identity.Issuer, err)
	}
	k.pace.spoke(r.Identity.Issuer)
	return issued, err
}

// gate holds a certificate back while it may not be switched to.
func (k *keyring) gate(id lbmodel.Identity, live *lbmodel.Leaf, leaf lbmodel.Leaf, roots []lbmodel.Root) error {
	now := k.config.Now()
	s := Switch{Live: live, Candidate: leaf, Margin: k.config.Margin, Skew: k.config.Skew, Now: now}
	for _, root := range roots {
		known := Authority{Root: root}
		known.Trusted, known.Why, known.Opens = k.trusts(id)(id.Issuer, root, now)
		s.Authorities = append(s.Authorities, known)
	}
	d := MaySwitch(s)
	k.config.Watch(id, d)
	if d.Switch {
		return nil
	}
	wait := refusal(lbmodel.CodePending, "%s", d.Why)
	if wait.RetryAfter = maxWait; !d.Until.IsZero() {
		wait.RetryAfter = max(min(d.Until.Sub(now), maxWait), time.Second)
	}
	return wait
}

// trusts is what all and what the identity's own backends say.
func (k *keyring) trusts(id lbmodel.Identity) Trusted {
	if k.config.Backends == nil {
		return k.config.Trusted
	}
	return All(k.config.Trusted, func(_ string, root lbmodel.Root, now time.Time) (ok bool, why string, until time.Time) {
		return k.config.Backends(id, root, now)
	})
}

func refusal(code lbmodel.Code, format string, args ...any) *lbmodel.Error {
	return lbmodel.Errorf(code, op, lbmodel.ID{}, format, args...)
}

// outdated is a conflict that leads to another plan.
func outdated(format string, args ...any) *lbmodel.Error {
	e := refusal(lbmodel.CodeConflict, format, args...)
	e.Outdated = true
	return e
}

// about is err as an lbmodel.Error that names the identity, and says that no cloud is
// to blame: each try is a certificate, and may take its time.
func about(id lbmodel.Identity, err error) error {
	name := lbmodel.ID{Kind: "Identity", Name: id.Name}
	e, ok := errors.AsType[*lbmodel.Error](err)
	switch {
	case !ok:
		return &lbmodel.Error{Code: lbmodel.CodeOf(err), Op: op, ID: name, Elsewhere: true, Err: err}
	case any(e) != any(err): // wrapped, whose words are kept
		return &lbmodel.Error{Code: e.Code, Op: op, ID: name, RetryAfter: e.RetryAfter, Elsewhere: true, Err: err}
	}
	full := *e
	full.Elsewhere = true
	full.Op = cmp.Or(full.Op, op)
	full.ID = cmp.Or(full.ID, name)
	return &full
}
