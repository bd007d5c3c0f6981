package memcloud

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// Harness brings the provider, with a bug or [None], to the laws.
func Harness(bug Bug) providertest.Harness {
	return providertest.Harness{
		New:       func(_ testing.TB, env providertest.Env) providertest.World { return New(env, bug) },
		Settings:  func(location string) json.RawMessage { return encode(Settings{Location: location}) },
		Locations: Locations,
		Adopt: func(_ providertest.World, gw lbmodel.Gateway) lbmodel.Gateway {
			s, err := parse(gw.Settings)
			if err != nil {
				panic(err) // the suite only passes on what Settings made
			}
			s.Adopt, s.Label = AdoptHandle(s.Location), gw.Owner.Name
			gw.Settings = encode(s)
			return gw
		},
	}
}

// Private is a harness whose gateways share no endpoints.
func Private(h providertest.Harness) providertest.Harness {
	h.Settings = func(location string) json.RawMessage { return encode(Settings{Location: location, Private: true}) }
	return h
}

func encode(s Settings) json.RawMessage {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of strings
	}
	return out
}

// Provider implements providertest.World.
func (s *Service) Provider() providers.Provider { return s.NewProvider() }

// Hook implements providertest.World.
func (s *Service) Hook(h providertest.Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = h
}

// Settle implements providertest.World.
func (s *Service) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for handle, o := range s.objects {
		if o.id.Kind == "Identity" {
			continue // it would age
		}
		o.since = o.since.Add(-time.Hour)
		for e, at := range o.joined {
			o.joined[e] = at.Add(-time.Hour)
		}
		s.objects[handle] = o
	}
	s.past = nil
}

// Dump implements providertest.World.
func (s *Service) Dump() []providertest.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []providertest.Object
	for handle, o := range s.objects {
		d := providertest.Object{Name: string(handle), Text: fmt.Sprintf("%+v", o)}
		if strings.HasPrefix(string(handle), "foreign-") {
			if a, ok := o.spec.(Address); ok {
				a.Label = "" // may become ours
				o.spec = a
			}
			d.Foreign = fmt.Sprint(o.id, o.spec, o.note)
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b providertest.Object) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Answer implements providertest.World.
func (s *Service) Answer(probe providertest.Probe) []lbmodel.Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []lbmodel.Target
	for _, o := range s.objects {
		l, ok := o.spec.(Listener)
		if ok && o.owner == probe.Owner && l.Port == probe.Port && s.addressed(l.Address) {
			out = append(out, s.answer(o.id, probe)...)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Service) addressed(id lbmodel.ID) bool {
	for _, o := range s.objects {
		if o.id == id {
			return o.id.Name == theirs || s.ready(o.since, addressAfter)
		}
	}
	return false
}

// answer finds the rule of a listener that matches first.
func (s *Service) answer(listener lbmodel.ID, probe providertest.Probe) []lbmodel.Target {
	var winner *Rule
	for _, o := range s.objects {
		r, ok := o.spec.(Rule)
		if !ok || r.Listener != listener || !r.matches(probe) {
			continue
		}
		if winner == nil || r.Priority < winner.Priority {
			winner = &r
		}
	}
	if winner == nil {
		return nil
	}
	var out []lbmodel.Target
	for _, share := range winner.Shares {
		out = append(out, s.targets(share.Backend)...)
	}
	return out
}

func (s *Service) targets(backend lbmodel.ID) []lbmodel.Target {
	b, _ := s.named(backend).spec.(Backend)
	group := s.named(b.Group)
	var out []lbmodel.Target
	for e, joined := range group.joined {
		if s.ready(joined, healthAfter) {
			out = append(out, lbmodel.Target(e))
		}
	}
	return out
}

func (s *Service) named(id lbmodel.ID) object {
	for _, o := range s.objects {
		if o.id == id {
			return o
		}
	}
	return object{}
}

func (r Rule) matches(probe providertest.Probe) bool {
	if r.Host != "" && r.Host != probe.Host {
		return false
	}
	switch r.Path.Kind {
	case lbmodel.MatchExact:
		return probe.Path == r.Path.Value
	case lbmodel.MatchPrefix:
		prefix := strings.TrimSuffix(r.Path.Value, "/")
		return probe.Path == prefix || strings.HasPrefix(probe.Path, prefix+"/")
	default:
		return true
	}
}
