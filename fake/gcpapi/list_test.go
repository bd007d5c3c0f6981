package gcpapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/api/iterator"
	"google.golang.org/protobuf/proto"

	"gatehouse.dev/fake/gcpapi"
)

// Pages cover a list exactly, in the order of names; strange tokens are refused.
func TestPages(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	for i := range 7 {
		w.healthCheck(fmt.Sprintf("c%d", 7-i))
	}
	checks := client(w, compute.NewHealthChecksRESTClient)
	var got []string
	for it := checks.List(t.Context(), &computepb.ListHealthChecksRequest{Project: project, MaxResults: proto.Uint32(3)}); ; {
		one, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, one.GetName())
	}
	if strings.Join(got, " ") != "c1 c2 c3 c4 c5 c6 c7" {
		t.Errorf("pages hold %v", got)
	}
	if n := w.Count(gcpapi.ByMethod)["compute.healthChecks.list"]; n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	for _, token := range []string{"x", "cGFnZTotMQ"} {
		if reason, _ := refused(w, w.api.HealthChecks.List(project).PageToken(token).Do); reason != "invalid" {
			t.Errorf("token %q: %q", token, reason)
		}
	}
}

// An aggregated list has every scope, with a warning where there is nothing.
func TestAggregated(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.backend("web")
	w.done(w.api.RegionHealthChecks.Insert(project, region, tcpCheck("here")).Do)
	all := do(w, w.api.HealthChecks.AggregatedList(project).Do)
	if len(all.Items) != 9 || len(all.Items["global"].HealthChecks) != 1 || len(all.Items["regions/us-central1"].HealthChecks) != 1 || all.Items["regions/europe-west1"].Warning.Code != "NO_RESULTS_ON_PAGE" {
		t.Errorf("%d scopes: %+v", len(all.Items), all.Items)
	}
	groups := client(w, compute.NewNetworkEndpointGroupsRESTClient)
	found := ""
	for it := groups.AggregatedList(t.Context(), &computepb.AggregatedListNetworkEndpointGroupsRequest{Project: project}); ; {
		pair, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range pair.Value.NetworkEndpointGroups {
			found += pair.Key + "/" + g.GetName()
		}
	}
	if found != "zones/us-central1-a/web" {
		t.Errorf("found %q", found)
	}
}

// Filters are those that clients send.
func TestFilters(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	for _, name := range []string{"shop-a", "shop-b", "blog"} {
		w.done(w.api.GlobalAddresses.Insert(project, &discovery.Address{Name: name, Description: "of " + name, Labels: map[string]string{"app": strings.TrimRight(name, "-ab")}}).Do)
	}
	for _, c := range []struct{ filter, want string }{
		{`name=blog`, "blog"},
		{`name = "shop-a" OR name = "blog"`, "blog shop-a"},
		{`labels.app=shop`, "shop-a shop-b"},
		{`(labels.app = "shop") AND (name != "shop-a")`, "shop-b"},
		{`name eq "shop-.*"`, "shop-a shop-b"},
		{`name ne shop-.*`, "blog"},
		{`name:shop`, "shop-a shop-b"},
		{`name = shop-*`, "shop-a shop-b"},
		{`NOT name:shop`, "blog"},
		{`-labels.app:shop`, "blog"},
		{`labels.app:*`, "blog shop-a shop-b"},
		{`labels.team:*`, ""},
		{`description="of blog"`, "blog"},
		{`(name=shop-a) (status=RESERVED)`, "shop-a"},
		{`prefixLength<1`, ""},
	} {
		t.Run(c.filter, func(t *testing.T) {
			var got []string
			for _, a := range do(w, w.api.GlobalAddresses.List(project).Filter(c.filter).Do).Items {
				got = append(got, a.Name)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
	for _, bad := range []string{"name=", "(name=a", "name ~~ a", "name eq ("} {
		if reason, message := refused(w, w.api.GlobalAddresses.List(project).Filter(bad).Do); reason != "invalid" || !strings.Contains(message, "Invalid list filter expression") {
			t.Errorf("%s: %s %s", bad, reason, message)
		}
	}
	newest := do(w, w.api.GlobalAddresses.List(project).OrderBy("creationTimestamp desc").Do).Items
	if len(newest) != 3 {
		t.Errorf("%d addresses", len(newest))
	}
}

// Labels are replaced by who has seen them.
func TestLabels(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.done(w.api.GlobalAddresses.Insert(project, &discovery.Address{Name: "a"}).Do)
	seen := do(w, w.api.GlobalAddresses.Get(project, "a").Do)
	set := &discovery.GlobalSetLabelsRequest{LabelFingerprint: seen.LabelFingerprint, Labels: map[string]string{"k": "v"}}
	w.done(w.api.GlobalAddresses.SetLabels(project, "a", set).Do)
	if now := do(w, w.api.GlobalAddresses.Get(project, "a").Do); now.Labels["k"] != "v" || now.LabelFingerprint == seen.LabelFingerprint {
		t.Errorf("labels %v", now.Labels)
	}
	if reason, _ := refused(w, w.api.GlobalAddresses.SetLabels(project, "a", set).Do); reason != "conditionNotMet" {
		t.Errorf("old label fingerprint: %q", reason)
	}
	if reason, _ := refused(w, w.api.GlobalAddresses.Insert(project, &discovery.Address{Name: "b", Labels: map[string]string{"K": "v"}}).Do); reason != "invalid" {
		t.Errorf("an upper case key: %q", reason)
	}
}
