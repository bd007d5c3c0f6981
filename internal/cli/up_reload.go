package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/cli/words"
	"gatehouse.dev/internal/manifest"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// patience is how long something must be missing from the files before it counts
// as removed: no editor takes that long between two calls.
const patience = time.Second

// loadSteady reads files that somebody may be writing.
func (a *app) loadSteady(ctx context.Context, s source) (*manifest.Loaded, error) {
	loaded, err := manifest.LoadSteady(ctx, a.manifestOptions(s))
	if errors.Is(err, manifest.ErrRefused) {
		return loaded, fmt.Errorf("--strict refuses all of it for %s", words.Count(len(loaded.Problems), "problem"))
	}
	return loaded, err
}

// reload reads the files again and does what their change asks for.
func (s *server) reload(ctx context.Context) {
	s.recheck = nil
	loaded, err := s.loadSteady(ctx, s.source)
	if loaded != nil {
		s.tellProblems(loaded.Problems)
	}
	if !s.readable(err) {
		return
	}
	s.tellClosed(loaded.Snapshot)
	absent := reconcile.Removed
	if loaded.Incomplete {
		absent = reconcile.Unproven
	}
	d, again := s.latest.Take(loaded.Snapshot, absent, time.Now())
	if again == 0 && restless(loaded) {
		again = patience
	}
	if again > 0 {
		s.recheck = time.After(again)
	}
	s.engine.keys.now.Store(loaded.Keys.Keeping(s.engine.keys.now.Load(), s.latest.Usable()))
	s.tellRemoved(d.Delete)
	cleared := s.doubt && !loaded.Incomplete && again == 0
	switch {
	case cleared:
		s.pass(ctx, s.undoubted(s.change(d)))
	case d.Empty():
		s.tellFindings()
	case s.engine.loop.EndpointsOnly(d):
		s.endpoints(ctx, d)
	default:
		s.pass(ctx, s.change(d))
	}
}

// tellClosed tells once of providers that the files did not ask for when it began.
func (s *server) tellClosed(now translate.Snapshot) {
	was := s.told.closed
	s.told.closed = strings.Join(s.engine.closed(now), ", ")
	if s.told.closed != "" && s.told.closed != was {
		s.say(term.Yellow, "!", "classes of %s came after the start: start again to have their gateways", s.told.closed)
	}
}

// restless says that the files were read while somebody wrote them.
func restless(l *manifest.Loaded) bool { return l.Incomplete && len(l.Problems) == 0 }

// readable says whether there is something to go on with, and tells of trouble
// once.
func (s *server) readable(err error) bool {
	was := s.told.trouble
	if s.told.trouble = ""; err != nil {
		s.told.trouble = err.Error()
	}
	switch {
	case err != nil && s.told.trouble != was:
		s.say(term.Red, "✗", "%v; everything stays as it was", err)
	case err == nil && was != "":
		s.say(term.Green, "✓", "the files can be read again")
	}
	return err == nil
}

// change takes a difference and says which gateways it concerns.
func (s *server) change(d reconcile.Difference) []translate.Key {
	before := s.engine.loop.Gateways()
	keys := s.engine.loop.Change(d.Change)
	if n := len(d.Put) + len(d.Delete); n > 0 {
		s.say(term.Cyan, "~", "%s changed: %s", countOf(n, "object"), concerns(keys))
	}
	s.tellLeaving(before)
	s.tellFindings()
	return keys
}

// certain ends the doubts that the start left.
func (s *server) certain() {
	s.doubt = false
	s.engine.loop.Doubt(reconcile.Doubt{})
}

// undoubted ends the doubts that the start left, which concerns every gateway
// beside those of a change.
func (s *server) undoubted(keys []translate.Key) []translate.Key {
	s.certain()
	keys = append(keys, s.engine.loop.Index().Gateways()...)
	slices.SortFunc(keys, compareNames)
	return slices.Compact(keys)
}

func (s *server) endpoints(ctx context.Context, d reconcile.Difference) {
	began := time.Now()
	keys, err := s.engine.loop.Endpoints(ctx, d)
	if err != nil {
		s.say(term.Red, "✗", "endpoints: %v; it is tried again", err)
		s.retries++
		return
	}
	if !s.program(ctx) {
		s.retries++
	}
	s.say(term.Green, "✓", "endpoints of %s up to date in %s (fast path): %s", joinKeys(d.Backends), time.Since(began).Round(time.Microsecond), concerns(keys))
}

func concerns(keys []translate.Key) string {
	if len(keys) == 0 {
		return "no gateway is concerned"
	}
	return joinKeys(keys)
}

// findings are those of all gateways, and of what no gateway has.
func (s *server) findings() []lbmodel.Finding {
	return slices.Concat(findingsOf(s.engine.loop.Gateways()), s.latest.Kept, s.classless(), strays(s.latest.Snapshot),
		bound(s.engine.loop.Index(), s.engine.loop.Gateways(), time.Now()),
		unissued(s.engine.loop.Gateways(), s.engine.loop.Leaves, s.issues))
}

// classless are the Gateways that nobody can call ours or not, since their class is
// not there. Those that were ours tell it themselves.
func (s *server) classless() []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, g := range s.latest.Snapshot.Gateways {
		key := translate.Key{Kind: translate.KindGateway, Namespace: g.Namespace, Name: g.Name}
		b := s.engine.loop.Index().Belonging(key)
		if _, known := s.engine.loop.Gateway(key); known || !b.Exists || b.ClassExists {
			continue
		}
		out = append(out, lbmodel.Finding{
			About:     lbmodel.Source{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name},
			Condition: "Accepted", Reason: "Pending", Code: lbmodel.CodeUnresolved,
			Detail: fmt.Sprintf("its GatewayClass %s is not there, so nobody serves it: add the class, or correct spec.gatewayClassName", b.Class),
		})
	}
	return out
}
