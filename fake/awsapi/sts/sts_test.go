package sts

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/snapshot"
	"gatehouse.dev/fake/awsapi/wire"
)

// Every request of the offered actions that the SDK can write is read.
func TestEveryRequestIsRead(t *testing.T) {
	all := snapshot.Load(t, "sts", "request")
	for name, action := range New(Config{}).Actions() {
		form, err := url.ParseQuery(string(all[name].Body))
		if err != nil || form.Get("Action") != name {
			t.Errorf("the SDK has no %s: %v", name, err)
		}
		if err := Protocol().Decode(&wire.Request{Form: form}, action.Input()); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// A role's keys are good for as long as they were asked for, and say who has them.
func TestAssumeRole(t *testing.T) {
	s := New(Config{Home: account.Home{Account: "123456789012", Region: "us-east-1"}, IDs: &account.IDs{}})
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	call := &account.Call{Home: s.Home, Now: now}
	out, err := s.assumeRole(call, &assumeRole{RoleArn: "arn:aws:iam::123456789012:role/team/gatehouse", RoleSessionName: "gw", DurationSeconds: new(900)})
	if err != nil {
		t.Fatal(err)
	}
	keys := out.(assumed).Credentials
	if until, ok := s.Issued(keys.AccessKeyId); !ok || !until.Equal(now.Add(15*time.Minute)) || !strings.HasPrefix(keys.AccessKeyId, "ASIA") {
		t.Errorf("keys are %s until %s", keys.AccessKeyId, until)
	}
	call.Key = keys.AccessKeyId
	who, err := s.getCallerIdentity(call, nil)
	if got := who.(identity).Arn; err != nil || got != "arn:aws:sts::123456789012:assumed-role/gatehouse/gw" {
		t.Errorf("the caller is %s: %v", got, err)
	}
	for _, c := range []struct {
		name, role string
		seconds    int
		why        string
	}{
		{"role", "gatehouse", 900, "it is no ARN"},
		{"short", "arn:aws:iam::123456789012:role/gatehouse", 60, "15 minutes at least"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := s.assumeRole(call, &assumeRole{RoleArn: c.role, RoleSessionName: "gw", DurationSeconds: &c.seconds}); err == nil {
				t.Error(c.why)
			}
		})
	}
}

// The SDK reads the elements of an identity by these names.
func TestIdentityIsWritten(t *testing.T) {
	w := httptest.NewRecorder()
	Protocol().Reply(w, &wire.Request{Form: url.Values{"Action": {"GetCallerIdentity"}}}, "id", identity{"__Account__", "__Arn__", "__UserId__"})
	want := string(snapshot.Load(t, "sts", "response")["GetCallerIdentity"].Body)
	got := strings.Replace(w.Body.String(), ` xmlns="https://sts.amazonaws.com/doc/2011-06-15/"`, "", 1)
	got = strings.Replace(got, "<ResponseMetadata><RequestId>id</RequestId></ResponseMetadata>", "", 1)
	if got != want {
		t.Errorf("ours is\n%s\nthe SDK's is\n%s", got, want)
	}
}
