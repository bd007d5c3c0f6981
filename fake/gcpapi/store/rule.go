package store

import (
	"encoding/json/v2"
	"maps"
	"regexp"
	"slices"
)

// mostLabels is how many labels a resource may have.
const mostLabels = 64

var (
	idForm     = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	labelKey   = regexp.MustCompile(`^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$`)
	labelValue = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$`)
)

// IsID tells whether a resource can have a name (RFC 1035).
func IsID(text string) bool { return idForm.MatchString(text) }

// CheckLabels refuses labels that no resource can have
// (https://cloud.google.com/compute/docs/labeling-resources).
func CheckLabels(o Object) error {
	labels, _ := o["labels"].(Object)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value, _ := labels[key].(string)
		if !labelKey.MatchString(key) || !labelValue.MatchString(value) {
			return BadField("labels", key+"="+value, "Label keys and values must be lower case letters, digits, _ and -, at most 63, and keys begin with a letter.")
		}
	}
	if len(labels) > mostLabels {
		return BadField("labels", len(labels), "A resource can't have more than %d labels.", mostLabels)
	}
	return nil
}

// Decode reads an object into a value with JSON's fields. What the value has no field
// for is left out.
func Decode(o Object, into any) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
