package aws

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	jsonv2 "encoding/json/v2"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/lbmodel"
)

// Tags say whose a thing of the account is. They are given with the call that makes it,
// so nothing of ours is ever without.
const (
	tagPrefix    = "gatehouse.dev/"
	tagCluster   = tagPrefix + "cluster"
	tagKind      = tagPrefix + "kind" // the owner's; without one the thing is shared by the cluster
	tagNamespace = tagPrefix + "namespace"
	tagOwner     = tagPrefix + "owner"
	tagUID       = tagPrefix + "uid"
	tagID        = tagPrefix + "id"         // the name of the resource's ID
	tagSpec      = tagPrefix + "spec."      // and a number: what AWS has no field for, see packed
	tagTurned    = tagPrefix + "attributes" // of a target group: attributes were set
	tagDropped   = tagPrefix + "dropped"    // since when it is kept although nobody wants it
)

// tags are those of one thing.
type tags map[string]string

// tagsFor are the tags of a resource that is made.
func tagsFor(owner lbmodel.Owner, id lbmodel.ID, hold lbmodel.Hold) tags {
	out := tags{tagCluster: owner.Cluster, tagID: id.Name}
	if hold == lbmodel.Shared {
		return out
	}
	for key, value := range map[string]string{tagKind: owner.Kind, tagNamespace: owner.Namespace, tagOwner: owner.Name, tagUID: owner.UID} {
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// owner is who they say it belongs to; the zero Name is everybody in the cluster.
func (t tags) owner() lbmodel.Owner {
	return lbmodel.Owner{Cluster: t[tagCluster], Kind: t[tagKind], Namespace: t[tagNamespace], Name: t[tagOwner], UID: t[tagUID]}
}

// hold is ours, or everybody's of the cluster.
func (t tags) hold() lbmodel.Hold {
	if t[tagOwner] == "" {
		return lbmodel.Shared
	}
	return lbmodel.Own
}

// noteKey is the tag that says since when a resource is kept although nobody wants it.
// What has no tags of its own is noted with what it is in.
func noteKey(id lbmodel.ID) string {
	switch id.Kind {
	case KindTargets, KindListenerCertificate, KindSecurityGroupRule, KindAddress:
		return tagDropped + "." + strings.ToLower(id.Kind) + "." + id.Name
	default:
		return tagDropped
	}
}

// dropped is that time; zero without a note.
func (t tags) dropped(id lbmodel.ID) time.Time {
	at, err := time.Parse(time.RFC3339, t[noteKey(id)])
	if err != nil {
		return time.Time{}
	}
	return at
}

// others are the tags that are neither ours nor AWS's own.
func (t tags) others() map[string]string {
	out := map[string]string{}
	for key, value := range t {
		if !strings.HasPrefix(key, tagPrefix) && !strings.HasPrefix(key, "aws:") {
			out[key] = value
		}
	}
	return out
}

const maxTagValue = 256 // characters [API_Tag]

// pack adds a value that AWS has no field for, compressed and in as many tags as it
// needs.
func (t tags) pack(v any) {
	var text bytes.Buffer
	w, err := flate.NewWriter(&text, flate.BestCompression)
	if err != nil {
		panic("aws: " + err.Error()) // the level is a constant
	}
	_, _ = io.WriteString(w, encode(v)) // a buffer takes everything
	_ = w.Close()
	rest := base64.StdEncoding.EncodeToString(text.Bytes())
	for i := 0; rest != ""; i++ {
		n := min(maxTagValue, len(rest))
		t[fmt.Sprint(tagSpec, i)], rest = rest[:n], rest[n:]
	}
}

// unpack reads it back; false without one that can be read.
func (t tags) unpack(v any) bool {
	var text strings.Builder
	for i := 0; t[fmt.Sprint(tagSpec, i)] != ""; i++ {
		text.WriteString(t[fmt.Sprint(tagSpec, i)])
	}
	packed, err := base64.StdEncoding.DecodeString(text.String())
	if err != nil || len(packed) == 0 {
		return false
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), 1<<20))
	return err == nil && jsonv2.Unmarshal(plain, v) == nil
}

// isPacked says whether a tag holds a part of a packed value.
func isPacked(key string) bool { return strings.HasPrefix(key, tagSpec) }

// elbTags are tags as Elastic Load Balancing takes them.
func (t tags) elb() []elbtypes.Tag {
	out := make([]elbtypes.Tag, 0, len(t))
	for _, key := range slices.Sorted(maps.Keys(t)) {
		out = append(out, elbtypes.Tag{Key: &key, Value: new(t[key])})
	}
	return out
}

// change is what must be set and what removed to make one set of tags another.
func (t tags) change(to tags) (set tags, remove []string) {
	set = tags{}
	for key, value := range to {
		if old, ok := t[key]; !ok || old != value {
			set[key] = value
		}
	}
	for key := range t {
		if _, ok := to[key]; !ok {
			remove = append(remove, key)
		}
	}
	slices.Sort(remove)
	return set, remove
}

// ourName is the form of the names that nameOf makes. What is named otherwise is not
// ours, and is not asked for its tags: an account may hold thousands of others'.
var ourName = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?-[a-z2-7]{13}$`)
