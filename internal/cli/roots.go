package cli

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"strings"
	"sync"
	"time"

	"gatehouse.dev/internal/cli/term"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync/roots"
)

const (
	// rootsFile has the last good roots of the places that are in no file.
	rootsFile = "roots.json"
	// rootsPatience is how long a command waits for all places together.
	rootsPatience = 10 * time.Second
)

// fetched reads the roots that no object has, and has what is known of them.
type fetched struct {
	sync    *rootsync.Sync
	stop    context.CancelFunc
	running sync.WaitGroup
}

// newFetched runs until close. What was remembered in the state directory holds until
// it is read anew; what cannot be read of that is passed over.
func (a *app) newFetched() *fetched {
	ctx, stop := context.WithCancel(context.Background())
	f := &fetched{stop: stop, sync: rootsync.New(rootsync.Config{Token: a.consulToken, Socket: a.env.Getenv("SPIFFE_ENDPOINT_SOCKET")})}
	if where, err := a.state(); err == nil {
		f.sync.Recall(where.roots(a.flags.cluster))
	}
	f.running.Go(func() { f.sync.Run(ctx) })
	return f
}

func (f *fetched) close() {
	f.stop()
	f.running.Wait()
	f.sync.Close()
}

// consulToken is what a Consul is told. Files have no Secret that is sent anywhere.
func (a *app) consulToken(context.Context, string) (string, error) {
	if token := a.env.Getenv("CONSUL_HTTP_TOKEN"); token != "" {
		return token, nil
	}
	return "", errors.New("the command has the token from the environment, and CONSUL_HTTP_TOKEN is not set")
}

// aclToken is the same for Consul's CA.
func (a *app) aclToken(ctx context.Context, secret string) (string, error) {
	token, err := a.consulToken(ctx, secret)
	if err != nil {
		return "", lbmodel.Errorf(lbmodel.CodeUnsupported, "ReadSecret", lbmodel.ID{}, "identity.tokenSecret %s: %w", secret, err)
	}
	return token, nil
}

// first waits for every place that the bindings of an index name, but not for long, and
// returns what is known then.
func (a *app) first(ctx context.Context, f *fetched, x *translate.Index) translate.Change {
	f.sync.Want(x.Bounds())
	if change := f.sync.Change(); len(change.Put) == 0 {
		return change
	}
	ctx, cancel := context.WithTimeout(ctx, rootsPatience)
	defer cancel()
	wait := term.NewProgress(a.err, "reading roots")
	left := f.sync.Await(ctx)
	wait.Stop()
	if len(left) > 0 {
		a.err.Printf("%s no answer within %s from %s: its roots are those that were read last, if any.\n", a.err.Paint(term.Yellow, "!"), rootsPatience, strings.Join(left, ", "))
	}
	return f.sync.All()
}

// bundles reads once what the bindings of a snapshot name outside of it, and what is
// worth remembering.
func (a *app) bundles(ctx context.Context, x *translate.Index) (found []*translate.Bundle, memory map[string][]roots.Bundle) {
	f := a.newFetched()
	defer f.close()
	for _, obj := range a.first(ctx, f, x).Put {
		if b, is := obj.(*translate.Bundle); is {
			found = append(found, b)
		}
	}
	return found, f.sync.Remember()
}

// each are the same objects of no type.
func each[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// roots are what a command before read.
func (s state) roots(cluster string) map[string][]roots.Bundle {
	var text jsontext.Value
	if err := s.load(rootsFile, &text); err != nil || len(text) == 0 {
		return nil
	}
	memory, err := rootsync.Decode(text, cluster, time.Now())
	if err != nil {
		return nil // somebody else's, or broken: they are read anew
	}
	return memory.Bundles
}

// keepRoots writes down what was read, for the next command. There must be a lock.
func (s state) keepRoots(cluster string, found map[string][]roots.Bundle) error {
	if len(found) == 0 {
		return nil
	}
	text, _, err := rootsync.Encode(rootsync.Memory{Bundles: found}, cluster, time.Now())
	if err != nil {
		return err
	}
	return s.save(rootsFile, jsontext.Value(text))
}

// fetch has the places read that bindings name now, and passes where something is new.
func (s *server) fetch(ctx context.Context) {
	s.roots.sync.Want(s.engine.loop.Index().Bounds())
	change := s.roots.sync.Change()
	if len(change.Put)+len(change.Delete) == 0 {
		return
	}
	s.engine.fetched = s.roots.sync.Remember()
	keys := s.engine.loop.Change(change)
	s.say(term.Cyan, "~", "%s changed: %s", outside(change), concerns(keys))
	s.tellFindings()
	if len(keys) > 0 {
		s.pass(ctx, keys)
	}
}

// outside says what of a change came from outside of the files.
func outside(c translate.Change) string {
	held := 0
	for _, obj := range c.Put {
		if _, is := obj.(*translate.Held); is {
			held++
		}
	}
	for _, key := range c.Delete {
		if key.Kind == translate.KindHeld {
			held++
		}
	}
	var out []string
	if places := len(c.Put) + len(c.Delete) - held; places > 0 {
		out = append(out, "roots of "+countOf(places, "place"))
	}
	if held > 0 {
		out = append(out, "what a SPIFFE agent has ("+countOf(held, "certificate")+")")
	}
	return strings.Join(out, " and ")
}
