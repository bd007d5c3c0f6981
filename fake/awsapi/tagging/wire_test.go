package tagging

import (
	"net/http/httptest"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/awsapi/snapshot"
	"gatehouse.dev/fake/awsapi/wire"
)

// Every request of the offered actions that the SDK can write, in CBOR, is read.
func TestEveryRequestIsRead(t *testing.T) {
	all := snapshot.Load(t, "resourcegroupstaggingapi", "request")
	for name, action := range New(Config{}).Actions() {
		message := all[name]
		request := &wire.Request{Request: httptest.NewRequest("POST", message.Path, nil), Body: message.Body}
		if got := Protocol().Action(request); got != name {
			t.Errorf("%s is taken for %q", name, got)
		}
		if err := Protocol().Decode(request, action.Input()); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// Responses in CBOR hold what the SDK reads.
func TestEveryResponseIsWritten(t *testing.T) {
	shapes := map[string]any{"GetResources": &resources{}, "GetTagKeys": &keys{}, "GetTagValues": &values{}}
	requests := snapshot.Load(t, "resourcegroupstaggingapi", "request")
	for name, message := range snapshot.Load(t, "resourcegroupstaggingapi", "response") {
		shape, ok := shapes[name]
		if !ok {
			continue
		}
		var want, got any
		if err := cbor.Unmarshal(message.Body, shape); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		Protocol().Reply(w, &wire.Request{Request: httptest.NewRequest("POST", requests[name].Path, nil)}, "id", shape)
		if err := cbor.Unmarshal(message.Body, &want); err != nil {
			t.Fatal(err)
		}
		if err := cbor.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || w.Header().Get("Smithy-Protocol") != "rpc-v2-cbor" {
			t.Errorf("%s (-SDK +ours):\n%s", name, diff)
		}
	}
}
