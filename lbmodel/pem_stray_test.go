package lbmodel

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

func encodedAgain(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func wrappedAt(text string, width int) string {
	var out strings.Builder
	for len(text) > width {
		out.WriteString(text[:width] + "\n")
		text = text[width:]
	}
	return out.String() + text + "\n"
}

func inUTF16(text string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

// TestParseRootsLosesNothing: a second root that is written wrongly is refused with its
// place. Of each of these a reader of PEM sees the first root alone.
func TestParseRootsLosesNothing(t *testing.T) {
	r1, r2 := testCert(t, "r1", nil), testCert(t, "r2", nil)
	with := func(old, new string) string { return strings.ReplaceAll(r2, old, new) }
	lines := strings.Split(strings.TrimSpace(r2), "\n")
	const lost = "base64 as long as a certificate"
	for _, tt := range []struct{ name, second, want string }{
		{"encoded, with a comment", encodedAgain("#\n" + r2), lost},
		{"encoded, with a longer one", encodedAgain("# c\n" + r2), lost},
		{"encoded and wrapped", wrappedAt(encodedAgain("# c\n"+r2), 76), lost},
		{"encoded and wrapped closely", wrappedAt(encodedAgain(r2), 10), lost},
		{"encoded and CRLF", strings.ReplaceAll(wrappedAt(encodedAgain("#\n"+r2), 64), "\n", "\r\n"), lost},
		{"encoded twice more", encodedAgain(encodedAgain(r2)), lost},
		{"encoded for a URL", base64.RawURLEncoding.EncodeToString([]byte("#" + r2)), lost},
		{"as a value", "ca: " + strings.Join(lines[1:len(lines)-1], "") + " # root", lost},
		{"no armour", strings.Join(lines[1:len(lines)-1], "\n"), lost},
		{"dashes of a word processor", with("-----", "–––––"), lost},
		{"dashes of a web page", with("-----", "&#45;&#45;&#45;&#45;&#45;"), lost},
		{"four dashes", with("-----", "----"), lost},
		{"lower case", with("CERTIFICATE", "certificate"), `"certificate" and not a CERTIFICATE`},
		{"all in lower case", strings.NewReplacer("BEGIN", "begin", "END", "end", "CERTIFICATE", "certificate").Replace(r2), lost},
		{"UTF-16", inUTF16(r2), "a NUL byte"},
		{"escaped", with("\n", `\n`), "not valid PEM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, text := range []string{r1 + tt.second, tt.second + "\n" + r1} {
				found, err := ParseRoots([]byte(text))
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "offset ") || found != nil {
					t.Errorf("%d roots, %v, want %q", len(found), err, tt.want)
				}
			}
		})
	}
}

// TestParseRootsTakesComments: what people and programs write around roots is not theirs.
func TestParseRootsTakesComments(t *testing.T) {
	r1, r2 := testCert(t, "r1", nil), testCert(t, "r2", nil)
	clean := mustParseRoots(t, r1+r2)
	for _, tt := range []struct{ name, between string }{
		{"rulers", strings.Repeat("=", 300) + "\n" + strings.Repeat("-", 4) + "\n"},
		{"fingerprints", strings.Repeat("# SHA256 Fingerprint 3b5e9f0c3b5e9f0c3b5e9f0c3b5e9f0c3b5e9f0c3b5e9f0c3b5e9f0c3b5e9f0c\n", 9)},
		{"a dump", strings.Repeat("    00:c5:ae:12:9a:11:4f:de:ad:be:ef:01:02:03:04\n", 20)},
		{"p11-kit", "[p11-kit-object-v1]\nlabel: \"b\"\npublic-key-info: \"" + strings.Repeat("%30%59%13", 60) + "\"\n"},
		{"words alone on lines", strings.Repeat("root\nof\nthe\ntest\n", 100)},
		{"CRLF", "\r\n\r\n"},
		{"nothing", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseRoots([]byte("\uFEFF" + r1 + tt.between + r2 + tt.between + r1))
			if diff := cmp.Diff(clean, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestParseRootsLarge: the largest text takes no time to speak of.
func TestParseRootsLarge(t *testing.T) {
	r := []byte(testCert(t, "r", nil))
	full := bytes.Repeat(r, MaxRoots)
	words := append(bytes.Clone(r), bytes.Repeat([]byte("abcdefgh1234567\n"), (MaxRootsText-len(r))/16)...)
	short := append(bytes.Clone(r), bytes.Repeat([]byte("a\n"), (MaxRootsText-len(r))/2)...)
	rulers := append(bytes.Clone(r), bytes.Repeat([]byte("========\n"), (MaxRootsText-len(r))/9)...)
	began := time.Now()
	for _, text := range [][]byte{full, words, short, rulers} {
		if found, err := ParseRoots(text); err == nil && len(found) != 1 {
			t.Errorf("%d roots, want the one", len(found))
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
