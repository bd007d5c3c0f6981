// Package reconcile runs passes: objects become gateways, gateways become plans,
// plans are applied, and what came of it becomes statuses. It is the loop that
// the command line, and whatever else drives gateways, has in common; it knows
// every stage and none of their details.
//
//	Snapshot → Index → Result → Account.Want → Plan → Apply → Outcome → Status
//
// It never reads a file or a cluster, never chooses a provider and never talks
// to a person: those who call it do. Start with [Loop].
package reconcile
