package aws

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// nameLimit is the greatest length of the name of a load balancer, a target group
// or a trust store, in bytes [API_CreateLoadBalancer].
const nameLimit = 32

const hashLength = 13 // base32 characters: 65 bits

var hashText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// nameOf makes a name that every AWS service takes, ([a-z0-9]+-)*[a-z0-9]+ of at
// most 32 bytes: a readable beginning, cut to fit, and a hash of the parts. The
// same parts have the same name, different ones different names. Each part is
// hashed with its length, so that ("a-b", "c") and ("a", "b-c") differ.
func nameOf(readable string, parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	hash := hashText.EncodeToString(h.Sum(nil))[:hashLength]
	return label(readable, nameLimit-hashLength-1) + "-" + hash
}

// label is text in lower case with one hyphen for every run of other characters.
// It begins with a letter, and not with what AWS keeps to itself: names of load
// balancers that begin with "internal-".
func label(text string, limit int) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !isAlphanumeric(r) })
	out := strings.Join(words, "-")
	if out == "" || out[0] <= '9' || words[0] == "internal" {
		out = "x" + out
	}
	return strings.TrimRight(out[:min(limit, len(out))], "-")
}

func isAlphanumeric(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
