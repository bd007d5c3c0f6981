// Package naming makes names of cloud objects of what users write: readable, legal
// everywhere, and never the same for two things. It never reads a cloud, and knows
// no kind of object; what a provider keeps for itself is that provider's to avoid.
// Start with [Hashed].
package naming

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// HashLength is the length of the hash that ends a name, in bytes: 65 bits in base32.
const HashLength = 13

var hashText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Hashed makes a DNS label (RFC 1035), [a-z]([-a-z0-9]*[a-z0-9])?, of at most limit
// bytes that is the same for the same parts and different for different parts: a
// readable beginning, cut to fit, and a hash of the parts that is never cut. Each part
// is hashed with its length, so no separator can be faked: ("a-b", "c") and
// ("a", "b-c") differ. A limit is at least HashLength + 2.
func Hashed(readable string, limit int, parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	hash := hashText.EncodeToString(h.Sum(nil))[:HashLength]
	return Label(readable, limit-HashLength-1) + "-" + hash
}

// Label is text as a DNS label of at most limit bytes: in lower case, one hyphen for
// every run of other characters, a letter first, and never empty.
func Label(text string, limit int) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !alphanumeric(r) })
	out := strings.Join(words, "-")
	if out == "" || out[0] <= '9' {
		out = "x" + out
	}
	return strings.TrimRight(out[:min(limit, len(out))], "-")
}

// Legal says whether a name is a DNS label of at most limit bytes.
func Legal(name string, limit int) bool {
	if name == "" || len(name) > limit || name[0] < 'a' || name[0] > 'z' || name[len(name)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return !alphanumeric(r) && r != '-' })
}

func alphanumeric(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
