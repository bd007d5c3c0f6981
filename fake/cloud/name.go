package cloud

import "gatehouse.dev/providers/naming"

// NameLimit is the greatest length of a name in this cloud, in bytes: a DNS label
// (RFC 1035).
const NameLimit = 63

// Name makes a legal name of at most [NameLimit] bytes: see naming.Hashed.
func Name(readable string, parts ...string) string {
	return naming.Hashed(readable, NameLimit, parts...)
}
