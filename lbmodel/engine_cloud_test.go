package lbmodel

import (
	"fmt"
	"maps"
	"slices"
)

// engineSpec is a provider's spec as the engine's tests need it.
type engineSpec struct {
	Value string `json:"value,omitzero"`
	Refs  []ID   `json:"refs,omitempty"`
	Port  string `json:"port,omitzero"`

	effect string // what Impact says of an update or delete
}

func (s *engineSpec) Needs() []ID  { return s.Refs }
func (s *engineSpec) Slot() string { return s.Port }

func (s *engineSpec) Impact(verb Verb, _ Spec) string {
	if verb == Create {
		return ""
	}
	return s.effect
}

// strictCloud keeps objects and refuses whatever leaves them inconsistent.
type strictCloud struct{ objects Graph }

func (c *strictCloud) clone() *strictCloud { return &strictCloud{maps.Clone(c.objects)} }

// apply does one step or says why a cloud would not.
func (c *strictCloud) apply(s Step, digest Digest) error {
	old, there := c.objects[s.ID]
	if s.Hold == External || there && old.Hold == External && s.Hold != Adopted {
		return Errorf(CodeDenied, string(s.Verb), s.ID, "it belongs to somebody else")
	}
	if s.Hold == Adopted && s.Verb != Update {
		return Errorf(CodeDenied, string(s.Verb), s.ID, "it is only adopted")
	}
	if there == (s.Verb == Create) {
		return Errorf(CodeConflict, string(s.Verb), s.ID, "there: %t", there)
	}
	if s.Verb == Delete {
		return c.remove(s.ID)
	}
	return c.store(s, digest)
}

func (c *strictCloud) remove(id ID) error {
	for _, other := range c.objects {
		if other.ID != id && slices.Contains(needsOf(other.Spec), id) {
			return Errorf(CodeConflict, "Delete", id, "%s uses it", other.ID)
		}
	}
	delete(c.objects, id)
	return nil
}

func (c *strictCloud) store(s Step, digest Digest) error {
	for _, need := range needsOf(s.Want) {
		if _, ok := c.objects[need]; !ok {
			return Errorf(CodeUnresolved, string(s.Verb), s.ID, "%s is missing", need)
		}
	}
	slot := slotOf(s.Want)
	for _, other := range c.objects {
		if slot != "" && other.ID != s.ID && slotOf(other.Spec) == slot {
			return Errorf(CodeConflict, string(s.Verb), s.ID, "slot %s is held by %s", slot, other.ID)
		}
	}
	c.objects[s.ID] = Resource{ID: s.ID, Spec: s.Want, Digest: digest, Hold: s.Hold}
	return nil
}

// fault is what goes wrong at one step of a run.
type fault uint8

const (
	noFault   fault = iota
	refused         // an error, and no effect
	lostReply       // an error, though the effect is there
	killed          // the process ends before the step
)

// runPlan does the steps in the given order as an Account would: after a failure
// it goes on with whatever does not wait for the failed step. Any refusal that
// was not injected is an error.
func runPlan(c *strictCloud, want Graph, steps []Step, failAt int, f fault) error {
	stopped := map[ID]bool{}
	for i, s := range steps {
		if slices.ContainsFunc(s.After, func(id ID) bool { return stopped[id] }) {
			stopped[s.ID] = true
			continue
		}
		switch {
		case i != failAt || f == noFault:
		case f == killed:
			return nil
		case f == refused:
			stopped[s.ID] = true
			continue
		case f == lostReply:
			stopped[s.ID] = true
		}
		if err := c.apply(s, want[s.ID].Digest); err != nil {
			return fmt.Errorf("step %d of %d: %w", i, len(steps), err)
		}
	}
	return nil
}
