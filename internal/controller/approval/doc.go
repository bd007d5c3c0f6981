// Package approval lets people decide about changes of structure. [Policy] keeps
// back what the parameters of a Gateway or a Service say must be agreed to, [Plans]
// shows that in the GatewayPlan of its name (v1alpha1.PlanName), and the hash that
// somebody writes into its spec lets exactly that plan run.
//
//   - apply: Approve gates every create, delete and update but those that flow
//     (lbmodel.Flowing): endpoints of groups that are there, renewed certificates,
//     added roots. apply: PlanOnly shows the same and never runs it. apply: Auto
//     gates only what needs agreement (lbmodel.HoldDisruptive).
//   - The hash is over the gated steps without what flows, so that a rollout does
//     not take an approval away, and any other change does. It depends on nothing
//     that a restart forgets: not on the cause of a step, nor on the order.
//   - An approved plan that stopped half way goes on without being asked about
//     again, while every step that is left was in it ([Memory]). The plan's status
//     keeps the digests of its steps, so that a new process goes on with it too; of
//     a plan with more than 1024 steps it keeps none, and the rest asks again.
//   - An equal plan is approved as long as its hash stands in the spec: a drift back
//     to before the last approval is repaired.
//
// The object exists from the first time that something waits. With Approve and
// PlanOnly it then stays, with Auto it goes when nothing waits any more, and always
// with its Gateway or Service. A Gateway may be called as the plan of a Service would
// be: the name is the Gateway's, and the Service waits ([ErrNameTaken]). The package
// never writes a spec, never changes a plan's steps, and calls no cloud. Start with
// [Policy].
package approval
