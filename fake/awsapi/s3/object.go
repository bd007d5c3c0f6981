package s3

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

// kept are the headers of a put that its object is served with.
func kept(in http.Header) http.Header {
	out := http.Header{}
	for name, values := range in {
		if name == "Content-Type" || strings.HasPrefix(name, "X-Amz-Meta-") ||
			strings.HasPrefix(name, "X-Amz-Checksum-") && name != "X-Amz-Checksum-Mode" {
			out[name] = values
		}
	}
	return out
}

func (s *Service) putObject(call *account.Call, in *Input) (any, error) {
	out := output{Header: http.Header{}}
	return &out, s.edit(call, in.Bucket, func(b *bucket) error {
		newest := b.find(in.Key, "")
		present := newest != nil && !newest.Marker
		if in.Header.Get("If-None-Match") == "*" && present ||
			in.Header.Get("If-Match") != "" && (!present || in.Header.Get("If-Match") != newest.ETag) {
			return refuse(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
		}
		next := object{Key: in.Key, Version: s.version(b), ETag: etag(in.Body), Size: len(in.Body), Made: call.Now, Content: in.Body, Header: kept(in.Header)}
		b.put(next)
		out.Header.Set("ETag", next.ETag)
		if b.Versioning != "" {
			out.Header.Set("X-Amz-Version-Id", next.Version)
		}
		return nil
	})
}

// version is a new version's id: "null" where the bucket keeps no versions.
func (s *Service) version(b *bucket) string {
	if b.Versioning == "Enabled" {
		return s.IDs.Hex(32)
	}
	return "null"
}

// put adds a version; a null version replaces the one before it.
func (b *bucket) put(o object) {
	if o.Version == "null" {
		b.drop(o.Key, "null")
	}
	b.Objects = append(b.Objects, o)
}

func (b *bucket) drop(key, version string) {
	b.Objects = slices.DeleteFunc(b.Objects, func(o object) bool { return o.Key == key && o.Version == version })
}

func (s *Service) getObject(call *account.Call, in *Input) (any, error) {
	now := s.past.View(call)
	b, err := now.bucket(in.Bucket)
	if err != nil {
		return nil, err
	}
	version := in.Query.Get("versionId")
	o := b.find(in.Key, version)
	switch {
	case o == nil && version != "":
		return nil, refuse(http.StatusNotFound, "NoSuchVersion", "The specified version does not exist.")
	case o == nil || o.Marker && version == "":
		return nil, refuse(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	case o.Marker:
		return nil, refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
	}
	header := maps.Clone(o.Header)
	if in.Header.Get("X-Amz-Checksum-Mode") != "ENABLED" {
		maps.DeleteFunc(header, func(name string, _ []string) bool { return strings.HasPrefix(name, "X-Amz-Checksum-") })
	}
	header.Set("ETag", o.ETag)
	header.Set("Last-Modified", o.Made.UTC().Format(http.TimeFormat))
	header.Set("Content-Length", strconv.Itoa(o.Size))
	if b.Versioning != "" {
		header.Set("X-Amz-Version-Id", o.Version)
	}
	if none := in.Header.Get("If-None-Match"); none == o.ETag {
		header.Del("Content-Length")
		return output{Status: http.StatusNotModified, Header: header}, nil
	}
	return output{Header: header, Body: o.Content}, nil
}

func (s *Service) deleteObject(call *account.Call, in *Input) (any, error) {
	out := output{Status: http.StatusNoContent, Header: http.Header{}}
	version := in.Query.Get("versionId")
	return &out, s.edit(call, in.Bucket, func(b *bucket) error {
		switch {
		case version != "":
			if o := b.find(in.Key, version); o != nil && o.Marker {
				out.Header.Set("X-Amz-Delete-Marker", "true")
			}
			b.drop(in.Key, version)
			out.Header.Set("X-Amz-Version-Id", version)
		case b.Versioning == "":
			b.drop(in.Key, "null")
		default:
			marker := object{Key: in.Key, Version: s.version(b), Marker: true, Made: call.Now}
			b.put(marker)
			out.Header.Set("X-Amz-Delete-Marker", "true")
			out.Header.Set("X-Amz-Version-Id", marker.Version)
		}
		return nil
	})
}

// newest are the newest versions of a bucket's objects by key, those deleted left out.
func (b *bucket) newest(prefix string) []object {
	byKey := map[string]object{}
	for _, o := range b.Objects {
		byKey[o.Key] = o
	}
	var out []object
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if o := byKey[key]; strings.HasPrefix(key, prefix) && !o.Marker {
			out = append(out, o)
		}
	}
	return out
}

func size(in *Input) int {
	n, err := strconv.Atoi(in.Query.Get("max-keys"))
	if err != nil || n < 0 || n > 1000 {
		return 1000
	}
	return n
}

func (s *Service) listObjects(call *account.Call, in *Input) (any, error) {
	now := s.past.View(call)
	b, err := now.bucket(in.Bucket)
	if err != nil {
		return nil, err
	}
	prefix := in.Query.Get("prefix")
	page, next, ok := account.Page(b.newest(prefix), in.Query.Get("continuation-token"), size(in))
	if !ok {
		return nil, refuse(http.StatusBadRequest, "InvalidArgument", "The continuation token provided is incorrect")
	}
	out := listing{Name: in.Bucket, Prefix: prefix, MaxKeys: size(in), KeyCount: len(page), IsTruncated: next != "", Next: next}
	for _, o := range page {
		out.Contents = append(out.Contents, entry{Key: o.Key, ETag: o.ETag, Size: o.Size, Modified: o.Made})
	}
	return output{XML: out}, nil
}

func (s *Service) listVersions(call *account.Call, in *Input) (any, error) {
	now := s.past.View(call)
	b, err := now.bucket(in.Bucket)
	if err != nil {
		return nil, err
	}
	prefix := in.Query.Get("prefix")
	var all []object
	for _, o := range slices.Backward(b.Objects) {
		if strings.HasPrefix(o.Key, prefix) {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b object) int { return strings.Compare(a.Key, b.Key) })
	// The marker is a place in the list, written as a key marker.
	page, next, ok := account.Page(all, in.Query.Get("version-id-marker"), size(in))
	if !ok {
		return nil, refuse(http.StatusBadRequest, "InvalidArgument", "Invalid version id specified")
	}
	out := versions{Name: in.Bucket, Prefix: prefix, MaxKeys: size(in), IsTruncated: next != "", NextVersion: next}
	for i, o := range page {
		latest := b.find(o.Key, "").Version == o.Version
		one := entry{Key: o.Key, Version: o.Version, Latest: &latest, Modified: o.Made, ETag: o.ETag, Size: o.Size}
		if i == len(page)-1 && next != "" {
			out.NextKey = o.Key
		}
		if o.Marker {
			out.Markers = append(out.Markers, entry{Key: o.Key, Version: o.Version, Latest: &latest, Modified: o.Made})
			continue
		}
		out.Versions = append(out.Versions, one)
	}
	return output{XML: out}, nil
}
