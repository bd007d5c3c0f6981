package awsapi_test

import (
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gatehouse.dev/fake/awsapi"
)

// Many callers at once see one account: every rule is made once, and every priority
// is one caller's.
func TestCallersShareTheAccount(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	listener := w.listener(w.lb("shop"), 80, notFound())
	const callers, rules = 8, 12
	won := make([]int, callers)
	var all sync.WaitGroup
	for i := range callers {
		client := elb.NewFromConfig(w.config(fmt.Sprint("AKID", i)))
		all.Go(func() {
			for priority := range rules {
				_, err := client.CreateRule(t.Context(), &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(int32(priority + 1)), Conditions: path("/a"), Actions: notFound()})
				if err == nil {
					won[i]++
				} else if codeOf(err) != "PriorityInUse" {
					t.Error(err)
				}
				_ = w.Dump()
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range won {
		sum += n
	}
	if sum != rules || w.rulesOf(listener) != rules+1 {
		t.Errorf("%d creates succeeded and there are %d rules, want %d and the default one", sum, w.rulesOf(listener), rules)
	}
	if got := w.Count(func(c awsapi.Call) string { return c.Key + " " + c.Action }); got["AKID3 CreateRule"] != rules {
		t.Errorf("one caller's calls: %v", got)
	}
}

// The SDK's own retryer takes throttling, 5xx and lost replies for what they are.
func TestRetriesOfTheSDK(t *testing.T) {
	for _, kind := range []awsapi.FaultKind{awsapi.Throttle, awsapi.Refuse, awsapi.CutBefore, awsapi.CutAfter} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t, awsapi.Config{})
			cfg := w.config("AKIDTEST")
			cfg.Retryer = func() aws.Retryer {
				return retry.NewStandard(func(o *retry.StandardOptions) {
					o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
				})
			}
			w.elb = elb.NewFromConfig(cfg)
			w.SetFaults(awsapi.Fault{Action: "CreateTargetGroup", Times: 2, Kind: kind})
			w.group("web") // idempotent: also after a reply that was lost
			if calls := w.Count(awsapi.ByAction)["CreateTargetGroup"]; calls != 3 {
				t.Errorf("%d calls, want 3", calls)
			}
			if groups := len(must(w, w.elb.DescribeTargetGroups, &elb.DescribeTargetGroupsInput{}).TargetGroups); groups != 1 {
				t.Errorf("%d target groups, want 1", groups)
			}
		})
	}
}

func (w *world) admin(method, path, body string) (int, string) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, w.url+awsapi.AdminPath+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// Other processes see state and calls, and set faults. Nothing that they see could
// sign a request.
func TestAdmin(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	ca := w.authority()
	ca.imported()
	w.group("web")
	if _, state := w.admin("GET", "state", ""); state != w.Dump() || !strings.Contains(state, `"TargetGroupName":"web"`) {
		t.Errorf("state is %s", state)
	}
	_, text := w.admin("GET", "calls", "")
	var calls []awsapi.Call
	if err := json.Unmarshal([]byte(text), &calls); err != nil || len(calls) != 2 || calls[1].Action != "CreateTargetGroup" {
		t.Errorf("calls are %s: %v", text, err)
	}
	for _, secret := range []string{"Signature", "secret", "PRIVATE"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log holds %q: %s", secret, text)
		}
	}
	if status, _ := w.admin("PUT", "faults", `[{"action":"Describe","kind":"Throttle","delay":"1ms"}]`); status != http.StatusOK {
		t.Errorf("faults: status %d", status)
	}
	if got := code(w, w.elb.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{}); got != "ThrottlingException" {
		t.Errorf("with a fault: %q", got)
	}
	if status, _ := w.admin("PUT", "faults", `[{"acton":"Describe"}]`); status != http.StatusBadRequest {
		t.Errorf("a misspelt fault: status %d", status)
	}
	if status, _ := w.admin("PUT", "faults", `[{"kind":"Hang"}]`); status != http.StatusBadRequest {
		t.Errorf("a kind that there is not: status %d", status)
	}
	_, _ = w.admin("DELETE", "calls", "")
	if len(w.Calls()) != 0 {
		t.Error("the calls are not forgotten")
	}
}

// What is not emulated is refused in a way that its caller understands.
func TestUnknown(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	for _, c := range []struct {
		name, service, body, want, why string
		status                         int
	}{
		{"action", "elasticloadbalancing", "Action=DescribeNothing&Version=2015-12-01", "<Code>InvalidAction</Code>", "no such action", http.StatusBadRequest},
		{"parameter", "elasticloadbalancing", "Action=DescribeLoadBalancers&Version=2015-12-01&Nmaes.member.1=a", "<Code>MalformedInput</Code>", "a misspelt parameter", http.StatusBadRequest},
		{"service", "wafv2", "{}", `"InvalidAction"`, "no such service", http.StatusBadRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), "POST", w.url, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20261201/us-east-1/"+c.service+"/aws4_request, SignedHeaders=host, Signature=0")
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != c.status || !strings.Contains(string(text), c.want) {
				t.Errorf("%d %s (%v), want %d and %s: %s", response.StatusCode, text, err, c.status, c.want, c.why)
			}
		})
	}
}
