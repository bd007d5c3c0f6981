// Package sts emulates the part of the Security Token Service that a controller
// uses to learn who it is and to become another: GetCallerIdentity, AssumeRole and
// AssumeRoleWithWebIdentity.
//
// Keys that it issues are known to the emulator until they expire. It checks no
// policy and no web identity token, and keeps no secret. Start with [New].
package sts
