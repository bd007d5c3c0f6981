package ec2

import (
	"net/url"
	"testing"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/snapshot"
	"gatehouse.dev/fake/awsapi/wire"
)

// Every request of the offered actions that the SDK can write is read.
func TestEveryRequestIsRead(t *testing.T) {
	all := snapshot.Load(t, "ec2", "request")
	for name, action := range New(Config{IDs: &account.IDs{}}).Actions() {
		form, err := url.ParseQuery(string(all[name].Body))
		if err != nil || form.Get("Action") != name {
			t.Errorf("the SDK has no %s: %v", name, err)
		}
		if err := Protocol().Decode(&wire.Request{Form: form}, action.Input()); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}
