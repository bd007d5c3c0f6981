package s3

import (
	"bytes"
	"encoding/xml"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/wire"
)

// Input is a request to S3.
type Input struct {
	Bucket, Key string
	Query       url.Values
	Header      http.Header
	Body        []byte
}

// output is an answer: XML, or a body, or neither.
type output struct {
	Status int // 0 is 200
	Header http.Header
	Body   []byte
	XML    any
}

// The documents.

type versioning struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ VersioningConfiguration"`
	Status  string   `xml:"Status,omitempty"`
}

type entry struct {
	Key      string    `xml:"Key"`
	Version  string    `xml:"VersionId,omitempty"`
	Latest   *bool     `xml:"IsLatest"`
	Modified time.Time `xml:"LastModified"`
	ETag     string    `xml:"ETag,omitempty"`
	Size     int       `xml:"Size"`
}

type listing struct {
	XMLName     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name        string   `xml:"Name"`
	Prefix      string   `xml:"Prefix"`
	MaxKeys     int      `xml:"MaxKeys"`
	KeyCount    int      `xml:"KeyCount"`
	IsTruncated bool     `xml:"IsTruncated"`
	Next        string   `xml:"NextContinuationToken,omitempty"`
	Contents    []entry  `xml:"Contents"`
}

type versions struct {
	XMLName     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListVersionsResult"`
	Name        string   `xml:"Name"`
	Prefix      string   `xml:"Prefix"`
	MaxKeys     int      `xml:"MaxKeys"`
	IsTruncated bool     `xml:"IsTruncated"`
	NextKey     string   `xml:"NextKeyMarker,omitempty"`
	NextVersion string   `xml:"NextVersionIdMarker,omitempty"`
	Versions    []entry  `xml:"Version"`
	Markers     []entry  `xml:"DeleteMarker"`
}

type failure struct {
	XMLName   xml.Name `xml:"Error"`
	Code      string   `xml:"Code"`
	Message   string   `xml:"Message"`
	RequestID string   `xml:"RequestId"`
}

func readXML(body []byte, into any) error { return xml.Unmarshal(body, into) }

// protocol is S3's REST.
type protocol struct{}

// Protocol is how the service is spoken to.
func Protocol() wire.Protocol { return protocol{} }

// split finds the bucket and the key: in the path, or the bucket before the host.
func split(r *wire.Request) (bucket, key string) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	for _, base := range []string{".localhost", ".s3."} {
		if before, _, found := strings.Cut(host, base); found && net.ParseIP(host) == nil {
			return before, path
		}
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

// Action implements wire.Protocol.
func (protocol) Action(r *wire.Request) string {
	bucket, key := split(r)
	query := r.URL.Query()
	switch {
	case bucket == "":
		return "ListBuckets"
	case key != "":
		for part := range query {
			if part == "tagging" || part == "acl" || part == "uploads" || part == "uploadId" {
				return r.Method + " object ?" + part
			}
		}
		return map[string]string{"GET": "GetObject", "HEAD": "HeadObject", "PUT": "PutObject", "DELETE": "DeleteObject"}[r.Method]
	case query.Has("versioning"):
		return map[string]string{"GET": "GetBucketVersioning", "PUT": "PutBucketVersioning"}[r.Method]
	case query.Has("versions"):
		return "ListObjectVersions"
	case r.Method == http.MethodGet && query.Get("list-type") == "2":
		return "ListObjectsV2"
	case len(query) == 0 || query.Has("x-id"):
		return map[string]string{"HEAD": "HeadBucket", "PUT": "CreateBucket", "DELETE": "DeleteBucket"}[r.Method]
	}
	return r.Method + " bucket ?" + r.URL.RawQuery
}

// Decode implements wire.Protocol.
func (protocol) Decode(r *wire.Request, into any) error {
	in, ok := into.(*Input)
	if !ok {
		return &wire.Malformed{Parameter: "request", Why: "it is not one of S3's"}
	}
	bucket, key := split(r)
	body, err := plain(r)
	*in = Input{Bucket: bucket, Key: key, Query: r.URL.Query(), Header: r.Header, Body: body}
	return err
}

// plain is a body without the chunks of AWS's own framing.
func plain(r *wire.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return r.Body, nil
	}
	bad := &wire.Malformed{Parameter: "body", Why: "its chunks can't be read"}
	var out []byte
	rest := r.Body
	for {
		line, after, ok := bytes.Cut(rest, []byte("\r\n"))
		size, _, _ := strings.Cut(string(line), ";")
		n, err := strconv.ParseInt(size, 16, 32)
		if !ok || err != nil || n < 0 || int(n) > len(after) {
			return nil, bad
		}
		if n == 0 {
			return out, nil // what follows are checksums
		}
		out = append(out, after[:n]...)
		rest = bytes.TrimPrefix(after[n:], []byte("\r\n"))
	}
}

// Reply implements wire.Protocol.
func (protocol) Reply(w http.ResponseWriter, _ *wire.Request, id string, result any) {
	out, ok := result.(output)
	if p, pointer := result.(*output); pointer {
		out, ok = *p, true
	}
	if !ok {
		out.Status = http.StatusInternalServerError
	}
	for name, values := range out.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	w.Header().Set("X-Amz-Request-Id", id)
	body := out.Body
	if out.XML != nil {
		body, _ = xml.Marshal(out.XML) // our own shapes can always be written
		body = append([]byte(xml.Header), body...)
		w.Header().Set("Content-Type", "application/xml")
	}
	if out.Status == 0 {
		out.Status = http.StatusOK
	}
	w.WriteHeader(out.Status)
	_, _ = w.Write(body) // a caller that has gone needs no answer
}

// Refuse implements wire.Protocol.
func (protocol) Refuse(w http.ResponseWriter, _ *wire.Request, id string, err *wire.Error) {
	body, _ := xml.Marshal(failure{Code: err.Code, Message: err.Message, RequestID: id})
	w.Header().Set("X-Amz-Request-Id", id)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(err.Status)
	_, _ = w.Write(append([]byte(xml.Header), body...)) // net/http drops it where the method has no body
}
