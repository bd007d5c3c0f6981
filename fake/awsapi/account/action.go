package account

import "time"

// Call is what an action knows of the call besides its input.
type Call struct {
	Home  Home
	Now   time.Time
	Host  string        // the emulator's own address, as the caller wrote it
	Lag   time.Duration // how old the state is that a read sees
	Stale bool          // a read sees the state before the last change
	Key   string        // the caller's access key id
}

// Action is one action of a service.
type Action struct {
	Name   string
	Bucket string // the token bucket of its class; "" is none
	Writes bool
	Input  func() any // a new input to decode into
	Run    func(*Call, any) (any, error)
}

// Read is an action that changes nothing.
func Read[I any](name, bucket string, run func(*Call, *I) (any, error)) Action {
	return Action{Name: name, Bucket: bucket, Input: func() any { return new(I) }, Run: typed(run)}
}

// Write is an action that may change something.
func Write[I any](name, bucket string, run func(*Call, *I) (any, error)) Action {
	out := Read(name, bucket, run)
	out.Writes = true
	return out
}

func typed[I any](run func(*Call, *I) (any, error)) func(*Call, any) (any, error) {
	return func(call *Call, in any) (any, error) {
		input, _ := in.(*I) // Input made it
		return run(call, input)
	}
}

// Table is a service's actions by name.
func Table(actions ...Action) map[string]Action {
	out := make(map[string]Action, len(actions))
	for _, a := range actions {
		out[a.Name] = a
	}
	return out
}
