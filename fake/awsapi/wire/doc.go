// Package wire reads and writes what AWS's protocols put on the wire: the query
// protocol of Elastic Load Balancing and STS, EC2's dialect of it, and JSON 1.1.
// Shapes are plain structs; a field's name on the wire is its Go name, or that of
// its `wire` tag.
//
//   - string, bool, int64, float64, time.Time, and pointers to them are scalars. A
//     zero scalar is left out of replies, a pointer only when it is nil; the tag's
//     option "always" writes an empty string too.
//   - slices are lists: nil is left out, an empty one is an empty element.
//   - map[string]string are AWS's entries of key and value.
//
// Reading is strict: a parameter that no field takes is refused, so that a
// misspelt or a newer one is never silently without effect.
//
// It never knows what an action means. Start with [Dialect].
package wire
