// Package events tells people, on the objects that they look at, what changed:
// few events, with the reasons of one table ([Reasons]).
//
// An event is about a change. What lasts is a condition's business, so the same
// thing is not told again while nothing else happened; a failure that lasts is
// told again every twenty minutes, so that it does not fall out of the cluster's
// memory of an hour. Whatever happens, one reason comes at most a few times an
// hour for one object. On a Service the reasons are those of the service
// controller of Kubernetes, so that what watches for these works here as well.
//
// Events never hold keys: text that looks like PEM is cut out, and messages are
// bounded. The package decides nothing and calls nothing but the recorder it is
// given. Start with [Events].
package events
