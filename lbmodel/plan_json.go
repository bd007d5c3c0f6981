package lbmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
)

// PlanSummary counts a plan.
type PlanSummary struct {
	Add        int `json:"add"`
	Change     int `json:"change"`
	Destroy    int `json:"destroy"`
	Wait       int `json:"wait"`       // renewals that are due some day not counted
	Drifted    int `json:"drifted"`    // steps that undo somebody else's change
	Disruptive int `json:"disruptive"` // steps with an Impact
}

// Summary counts the plan's steps and waits.
func (p Plan) Summary() PlanSummary {
	n := PlanSummary{Wait: len(p.Waiting())}
	for _, s := range p.Steps {
		switch s.Verb {
		case Create:
			n.Add++
		case Update:
			n.Change++
		case Delete:
			n.Destroy++
		}
		if s.Cause == Drift {
			n.Drifted++
		}
		if s.Impact != "" {
			n.Disruptive++
		}
	}
	return n
}

// The type of a plan document.
const (
	PlanAPIVersion = "gatehouse.dev/v1alpha1"
	PlanKind       = "Plan"
)

// PlanDocument is a plan as other programs read it. Equal plans encode to equal
// bytes, and decoding and encoding a document changes nothing.
type PlanDocument struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Summary    PlanSummary    `json:"summary"`
	Steps      []StepDocument `json:"steps"`
	Later      []Wait         `json:"later"`
}

// StepDocument is one step. Before is absent for a Create, After for a Delete.
type StepDocument struct {
	Verb     Verb           `json:"verb"`
	ID       ID             `json:"id"`
	Hold     string         `json:"hold"`
	Handle   Handle         `json:"handle,omitzero"`
	Cause    Cause          `json:"cause"`
	Why      string         `json:"why"`
	Impact   string         `json:"impact,omitzero"`
	Before   jsontext.Value `json:"before,omitzero"`
	After    jsontext.Value `json:"after,omitzero"`
	WaitsFor []ID           `json:"waitsFor,omitempty"` // steps that come first: Step.After
}

// Document is the plan as other programs read it.
func (p Plan) Document() PlanDocument {
	doc := PlanDocument{APIVersion: PlanAPIVersion, Kind: PlanKind, Summary: p.Summary(), Later: p.Later}
	for _, s := range p.Steps {
		doc.Steps = append(doc.Steps, StepDocument{
			Verb: s.Verb, ID: s.ID, Hold: s.Hold.String(), Handle: s.Have.Handle,
			Cause: s.Cause, Why: s.Why, Impact: s.Impact, WaitsFor: s.After,
			Before: documentSpec(s.Have.Spec), After: documentSpec(s.Want),
		})
	}
	return doc
}

// MarshalJSON writes the plan's Document.
func (p Plan) MarshalJSON() ([]byte, error) { return json.Marshal(p.Document()) }

func documentSpec(s Spec) jsontext.Value {
	if s == nil {
		return nil
	}
	return canonical(s)
}
