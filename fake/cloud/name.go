package cloud

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// NameLimit is the greatest length of a name in this cloud, in bytes: a DNS label
// (RFC 1035).
const NameLimit = 63

const hashLength = 13 // base32 characters: 65 bits

var hashText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Name makes a legal name, [a-z]([-a-z0-9]*[a-z0-9])?, of at most [NameLimit]
// bytes, that is the same for the same parts and different for different parts:
// a readable beginning, cut to fit, and a hash of the parts that is never cut.
// Each part is hashed with its length, so no separator can be faked: ("a-b", "c")
// and ("a", "b-c") differ.
func Name(readable string, parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	hash := hashText.EncodeToString(h.Sum(nil))[:hashLength]
	return label(readable, NameLimit-hashLength-1) + "-" + hash
}

// label is text as the beginning of a DNS label: one hyphen for every run of
// other characters, a letter first, at most limit bytes.
func label(text string, limit int) string {
	var out strings.Builder
	hyphen := false
	for _, r := range strings.ToLower(text) {
		if !isAlphanumeric(r) {
			hyphen = out.Len() > 0
			continue
		}
		if out.Len() == 0 && r <= '9' {
			out.WriteByte('x')
		}
		if hyphen {
			out.WriteByte('-')
			hyphen = false
		}
		out.WriteRune(r)
	}
	if out.Len() == 0 {
		return "x"
	}
	return strings.TrimRight(out.String()[:min(limit, out.Len())], "-")
}

func isAlphanumeric(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// legalName says whether a name has the form that Name makes.
func legalName(name string) bool {
	if name == "" || len(name) > NameLimit || name[0] < 'a' || name[0] > 'z' || name[len(name)-1] == '-' {
		return false
	}
	for _, r := range name {
		if !isAlphanumeric(r) && r != '-' {
			return false
		}
	}
	return true
}
