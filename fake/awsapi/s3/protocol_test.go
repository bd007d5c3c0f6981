package s3

import (
	"net/http/httptest"
	"testing"

	"gatehouse.dev/fake/awsapi/wire"
)

// Requests are told apart by method, path, host and query.
func TestActions(t *testing.T) {
	for _, c := range []struct{ name, method, url, want, why string }{
		{"put", "PUT", "http://127.0.0.1:4566/b/k/l?x-id=PutObject", "PutObject", "a key may have slashes"},
		{"host", "GET", "http://b.localhost:4566/k", "GetObject", "the bucket is in the host"},
		{"versioning", "PUT", "http://127.0.0.1/b?versioning", "PutBucketVersioning", "a part of a bucket"},
		{"versions", "GET", "http://127.0.0.1/b?versions&prefix=a", "ListObjectVersions", "a list"},
		{"list", "GET", "http://127.0.0.1/b/?list-type=2", "ListObjectsV2", "a slash after the bucket is no key"},
		{"acl", "GET", "http://127.0.0.1/b/k?acl", "GET object ?acl", "not emulated, and not taken for something else"},
		{"buckets", "GET", "http://127.0.0.1/", "ListBuckets", "no bucket"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Protocol().Action(&wire.Request{Request: httptest.NewRequest(c.method, c.url, nil)}); got != c.want {
				t.Errorf("%s %s is %q, want %q: %s", c.method, c.url, got, c.want, c.why)
			}
		})
	}
}

// A body in AWS's chunks is read without them, and a broken one is refused.
func TestChunks(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
		ok               bool
		why              string
	}{
		{"signed", "5;chunk-signature=a\r\nhello\r\n1;chunk-signature=b\r\n!\r\n0;chunk-signature=c\r\n\r\n", "hello!", true, "each chunk is signed"},
		{"trailer", "3\r\nabc\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n", "abc", true, "a checksum follows"},
		{"short", "9\r\nabc\r\n", "", false, "less than it says"},
		{"negative", "-1\r\nabc\r\n", "", false, "a size is not negative"},
		{"none", "abc", "", false, "no chunk at all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &wire.Request{Request: httptest.NewRequest("PUT", "/b/k", nil), Body: []byte(c.body)}
			r.Header.Set("X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
			var in Input
			err := Protocol().Decode(r, &in)
			if (err == nil) != c.ok || string(in.Body) != c.want {
				t.Errorf("%q is read as %q, %v: %s", c.body, in.Body, err, c.why)
			}
		})
	}
}
