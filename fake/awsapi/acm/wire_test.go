package acm

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/awsapi/snapshot"
	"gatehouse.dev/fake/awsapi/wire"
)

// Every request of the offered actions that the SDK can write is read, and nothing
// in it is unknown.
func TestEveryRequestIsRead(t *testing.T) {
	all := snapshot.Load(t, "acm", "request")
	for name, action := range New(Config{}).Actions() {
		message, ok := all[name]
		if !ok {
			t.Errorf("the SDK has no %s", name)
			continue
		}
		request := &wire.Request{Request: httptest.NewRequest("POST", "/", nil), Body: message.Body}
		request.Header = message.Header
		if got := Protocol().Action(request); got != name {
			t.Errorf("%s is taken for %q", name, got)
		}
		if err := Protocol().Decode(request, action.Input()); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// What the SDK reads from a response, our shapes hold and write again: nothing is
// missing, nothing is called otherwise.
func TestEveryResponseIsWritten(t *testing.T) {
	shapes := map[string]any{"ImportCertificate": arnOut{}, "DescribeCertificate": descOut{}, "ListCertificates": listOut{}, "GetCertificate": getOut{},
		"ListTagsForCertificate": tagsOut{}, "ListTagsForResource": tagsOut{}}
	for name, message := range snapshot.Load(t, "acm", "response") {
		shape, ok := shapes[name]
		if !ok {
			continue
		}
		value := reflect.New(reflect.TypeOf(shape)).Interface()
		if err := json.Unmarshal(message.Body, value, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w := httptest.NewRecorder()
		Protocol().Reply(w, nil, "id", value)
		want, got := jsontext.Value(message.Body), jsontext.Value(w.Body.Bytes())
		if want.Canonicalize() != nil || got.Canonicalize() != nil {
			t.Fatalf("%s is not JSON: %s", name, got)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-SDK +ours):\n%s", name, diff)
		}
	}
}

// Every error comes in the form that the SDK expects. Fixtures write the message's
// name in two ways, of which the SDK takes either, and reasons that may be absent.
func TestEveryErrorIsWritten(t *testing.T) {
	type told struct {
		Code    string `json:"__type"`
		Message string `json:"message,case:ignore"`
	}
	for name, message := range snapshot.Load(t, "acm", "error") {
		var want, got told
		if err := json.Unmarshal(message.Body, &want); err != nil || want.Message == "" {
			t.Fatalf("%s: %v", name, err)
		}
		refused := wire.Refuse(want.Code, "%s", want.Message)
		refused.Status = message.Status
		w := httptest.NewRecorder()
		Protocol().Refuse(w, nil, "id", refused)
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got != want || w.Code != message.Status {
			t.Errorf("%s: status %d, %+v, want %d, %+v: %v", name, w.Code, got, message.Status, want, err)
		}
	}
}
