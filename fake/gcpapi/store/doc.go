// Package store is what the emulated APIs of a Google Cloud project share: resources
// as JSON with their past, what each kind of them may say and refer to, who uses what,
// operations that take time, and the errors that all of them give.
//
// It never speaks HTTP, starts no goroutine and knows no API: an API registers its
// kinds ([Kind]) and turns calls ([Call]) into changes ([Change]), which [Store.Apply]
// checks and commits. Nothing in it locks: the server runs one call at a time.
//
// Start with [Store.Apply].
package store
