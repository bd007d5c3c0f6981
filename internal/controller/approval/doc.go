// Package approval lets people decide about changes of structure. [Policy] keeps
// back what a gateway's parameters say must be agreed to, [Plans] shows that in the
// GatewayPlan of the Gateway's name, and the hash that somebody writes into its
// spec lets exactly that plan run.
//
//   - apply: Approve gates every create, delete and update but those that flow
//     (lbmodel.Flowing): endpoints of groups that are there, renewed certificates,
//     added roots. apply: PlanOnly shows the same and never runs it. apply: Auto
//     gates only what needs agreement (lbmodel.HoldDisruptive).
//   - The hash is over the gated steps without what flows, so that a rollout does
//     not take an approval away, and any other change does. It depends on nothing
//     that a restart forgets: not on the cause of a step, nor on the order.
//   - An approved plan that stopped half way goes on without being asked about
//     again, while every step that is left was in it ([Memory]). A new process has
//     no such memory: it asks about the rest.
//   - An equal plan is approved as long as its hash stands in the spec: a drift back
//     to before the last approval is repaired.
//
// The object exists from the first time that something waits. With Approve and
// PlanOnly it then stays, with Auto it goes when nothing waits any more, and always
// with its Gateway. The package never writes a spec, never changes a plan's steps,
// and calls no cloud. Start with [Policy].
package approval
