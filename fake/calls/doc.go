// Package calls is what the emulators of clouds' APIs do with calls, whatever the cloud:
// they are logged and counted ([Log]), spoilt on purpose ([Faults]), and shown to other
// processes ([Admin]).
//
// It knows no cloud and no protocol, and locks nothing: a server does all of it under
// its own lock. What a call is, and which ones a fault fits, the emulator says.
//
// Start with [Log].
package calls
