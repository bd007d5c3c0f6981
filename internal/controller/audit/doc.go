// Package audit keeps an append-only record of every call that may have changed a
// cloud: when, by whom, for which object and why, what was called and what came of
// it. One entry is one line of JSON ([Entry]).
//
//   - A line is written with one call, right after the cloud's answer and before the
//     next step: kill -9 loses no entry of a finished call. The disk is told to keep
//     what was written once a second, at rotation and at Close, so a power failure
//     loses a second at most.
//   - A line that a crash or a full disk has cut is skipped by readers; the next
//     entry begins on a line of its own.
//   - A file that grew to its limit is renamed to NAME.1, and those before it to
//     NAME.2 and so on; the oldest goes.
//   - A record that cannot be written never stops a gateway. Entries are counted as
//     lost ([Log.Lost]), the log says so once, and the first entry that can be
//     written again is preceded by one that says how many are missing. It is no
//     reason to be unhealthy: a restart does not empty a disk.
//   - No secret is in it: of a Spec there is the digest, and a text that looks like a
//     private key is replaced.
//
// Start with [Open] and [Log.Watch]; [Read] is the other way.
package audit
