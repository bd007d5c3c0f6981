package lbmodel

// Finding is one thing to tell a user about one object: a refusal, a loss or a
// warning. Findings are made by translation, Restrict and the providers, and
// become conditions.
type Finding struct {
	About     Source `json:"about"`           // the object and the part of it
	Parent    Source `json:"parent,omitzero"` // the Gateway or listener it concerns, for route parents and policy ancestors
	Condition string `json:"condition"`       // the condition type: Accepted, ResolvedRefs, Programmed, PartiallyInvalid, …
	Reason    string `json:"reason"`
	Detail    string `json:"detail"` // one sentence: object, field, limit and the way out
	Code      Code   `json:"code"`
}
