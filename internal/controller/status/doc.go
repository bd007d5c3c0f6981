// Package status writes the statuses that translation made, and nothing else
// does. An object's status has several authors: other controllers have entries in
// a route's parents, anybody may add a condition. So a [translate.Patch] is read
// as what changed between its Base and its Status, and that alone is carried over
// to the newest version of the object; what others wrote stays as it is, to the
// byte.
//
// Where the API's lists are maps (conditions, a Gateway's listeners, a class's
// features) the writer applies what is ours with the field manager [Manager].
// Where they are atomic (a route's parents, a policy's ancestors) it replaces
// single entries of the version it has read. Both name that version, so nothing
// is written over what was not seen; a conflict means to read and merge again.
//
// The writer never touches anything but status, never writes what is there
// already, never writes to another object of the same name, and never puts an
// older generation's condition over a newer one's. It asks for no work: who
// calls it decides what to do about an error. Start with [Writer].
package status
