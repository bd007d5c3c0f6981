package lbmodel

// The condition types that errors set, as the Gateway API names them.
const (
	ConditionAccepted         = "Accepted"
	ConditionResolvedRefs     = "ResolvedRefs"
	ConditionProgrammed       = "Programmed"
	ConditionPartiallyInvalid = "PartiallyInvalid"
)

// Keep says how long an error leaves a condition as it is.
type Keep uint8

// The keeps.
const (
	KeepNot    Keep = iota // it is set at once
	KeepAWhile             // it is set only when the error outlasts the first retries
	KeepAlways             // it is never set by this error
)

// Effect is what the user sees of an error: a condition with its status and the
// reason where nobody knows a more specific one (a Finding's Reason always wins).
type Effect struct {
	Condition string // "" where Keep is KeepAlways
	Status    string // "True" or "False"
	Reason    string
	// Part is the condition that becomes True instead, beside Accepted=True, when
	// only some rules of an object are concerned: those answer 500, the others
	// work. Empty where there is no such thing.
	Part string
	Keep Keep
}

// ConditionOf is the effect of the design's error table for a code. Codes it does
// not know are treated as Unknown.
func ConditionOf(c Code) Effect {
	switch c {
	case CodeOK, CodeThrottled, CodeNotFound:
		return Effect{Keep: KeepAlways}
	case CodeInvalid:
		return Effect{Condition: ConditionAccepted, Status: "False", Reason: "Invalid", Part: ConditionPartiallyInvalid}
	case CodeUnsupported:
		return Effect{Condition: ConditionAccepted, Status: "False", Reason: "UnsupportedValue", Part: ConditionPartiallyInvalid}
	case CodeUnresolved:
		return Effect{Condition: ConditionResolvedRefs, Status: "False", Reason: "Unresolved"}
	case CodeConflict:
		return notProgrammed("Conflict", KeepNot)
	case CodeDenied:
		return notProgrammed("Denied", KeepNot)
	case CodeQuota:
		return notProgrammed("NoResources", KeepNot)
	case CodeUnavailable:
		return notProgrammed("Pending", KeepAWhile)
	default: // Pending, Internal, Unknown
		return notProgrammed("Pending", KeepNot)
	}
}

func notProgrammed(reason string, keep Keep) Effect {
	return Effect{Condition: ConditionProgrammed, Status: "False", Reason: reason, Keep: keep}
}
