// Package controller drives gateways from a cluster: it watches the objects, puts
// what changed through the loop of package reconcile, one gateway at a time and
// each by itself, and writes down what came of it. Gateways of Gateway API and
// Services of type LoadBalancer run through the same code.
//
//	watch → Loop.Follow → queue → pass: finalizer, plan, policies, apply, status
//	             └→ endpoints, in a queue of their own
//
// It never chooses a provider, never elects a leader (its caller runs it only
// while it may act) and never holds a key: those are read by a [Keyring] at the
// moment they are sent. Start with [New].
package controller
