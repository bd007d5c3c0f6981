package manifest

import (
	"strings"
	"testing"
)

// TestProblemsQuoteNoSecret puts a secret into every wrong place that a Secret's
// text has. Why this table: users paste problems into tickets.
func TestProblemsQuoteNoSecret(t *testing.T) {
	const secret = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
	const head = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	tests := []struct{ name, text string }{
		{"not base64", head + "data: {tls.key: '" + secret + "!'}\n"},
		{"a number", head + "data: {tls.key: 1234567890123456789012}\nstringData: {tls.key: 1234567890123456789012}\n"},
		{"in a key's place", head + "data: {'" + secret + "+/': ''}\n"},
		{"in a field's place", head + secret + ": x\n"},
		{"below a field that is no mapping", head + "data: [" + secret + "]\n"},
		{"twice", head + "stringData: {" + secret + ": a, " + secret + ": b}\n"},
		{"out of the block", head + "stringData:\n  tls.key: |\n" + secret + "\n"},
		{"as an alias", head + "stringData:\n  tls.key: *" + secret + "\n"},
		{"as a tag", head + "stringData:\n  tls.key: !" + secret + " x\n"},
		{"in a key's place with a number", head + "data: {" + secret + ": 5}\n"},
		{"in the metadata", "apiVersion: v1\nkind: Secret\nmetadata: {name: a, " + secret + ": x}\n"},
		{"as the type", head + "type: [" + secret + "]\n"},
		{"as the document", secret + "\n"},
		{"as the kind", "apiVersion: v1\nkind: Secret\nmetadata: " + secret + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loaded, err := Load(t.Context(), Options{Paths: []string{"-"}, Stdin: strings.NewReader(tt.text)})
			must(t, err)
			if len(loaded.Problems) == 0 {
				t.Fatal("no problem is told")
			}
			for _, p := range loaded.Problems {
				if text := p.String(); strings.Contains(text, secret) || strings.Contains(text, "12345") {
					t.Errorf("the secret is quoted: %s", text)
				}
			}
		})
	}
}
