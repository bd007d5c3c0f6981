package gcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
)

// checkOf is what an examination says of something, "" for nothing.
func checkOf(checks []Check, name string) string {
	for _, c := range checks {
		if strings.HasPrefix(c.Name, name) {
			return fmt.Sprint(c.State, " ", c.Detail)
		}
	}
	return ""
}

func TestExamine(t *testing.T) {
	regional := `{"project":"my-project","flavour":"RegionalInternal","location":"us-central1","zones":["us-central1-a"],"subnetwork":"default","proxyRanges":["10.129.0.0/23"]}`
	with := func(old, new string) []json.RawMessage {
		return []json.RawMessage{json.RawMessage(strings.ReplaceAll(regional, old, new))}
	}
	cases := []struct {
		name     string
		config   gcpapi.Config
		settings []json.RawMessage
		check    string
		want     string // state and a part of the text
	}{
		{"all well", gcpapi.Config{}, with("", ""), "proxy-only subnet of us-central1", "0 10.129.0.0/23"},
		{"whose it is", gcpapi.Config{}, nil, "project", "0 my-project"},
		{"a permission is missing", gcpapi.Config{Permit: func(_, p string, _ store.Name) bool { return p != "certificatemanager.trustconfigs.list" }}, nil, "read trustConfigs", "2 "},
		{"an API is not enabled", gcpapi.Config{Disabled: []string{"networksecurity"}}, nil, "read serverTlsPolicies", "2 "},
		{"nobody lets us in", gcpapi.Config{Admit: func(string) bool { return false }}, nil, "project", "2 "},
		{"no such network", gcpapi.Config{}, with(`"zones"`, `"network":"prod","zones"`), "network prod", "2 "},
		{"no such subnetwork", gcpapi.Config{}, with(`"default"`, `"lb"`), "subnetwork lb", "2 "},
		{"no proxy-only subnet", gcpapi.Config{}, with(`"zones"`, `"network":"prod","zones"`), "proxy-only subnet of us-central1", "2 there is none: gcloud compute networks subnets create"},
		{"another range", gcpapi.Config{}, with("10.129.0.0/23", "10.1.0.0/23"), "proxy-only subnet of us-central1", "2 requests come from 10.129.0.0/23"},
		{"no firewall", gcpapi.Config{}, with(`"zones"`, `"firewall":"None","zones"`), "firewall", "3 "},
		{"another project", gcpapi.Config{}, with("my-project", "other-project"), "settings", "2 gcp.project: is other-project"},
		{"a quota", gcpapi.Config{Limits: map[string]int{"URL_MAPS": 0}}, nil, "quota URL_MAPS", "1 0 of 0"},
		{"what is assumed", gcpapi.Config{}, with(`"zones"`, `"assume":["HostPortIgnored"],"zones"`), "assumption HostPortIgnored", "3 "},
		{"what was never tried", gcpapi.Config{}, nil, "Google Cloud itself", "3 "},
		{"roots", gcpapi.Config{}, nil, "roots of a mesh", "3 "},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			server, p := emulated(t, tc.config, Config{Endpoint: "http://gcp.test"})
			checks := p.Examine(t.Context(), tc.settings)
			if got := checkOf(checks, tc.check); !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s: %q, want %q; all: %v", tc.check, got, tc.want, checks)
			}
			for _, c := range server.Calls() {
				if c.Writes {
					t.Errorf("it has changed something: %s", c.Method)
				}
			}
		})
	}
}

// TestMissingPermissions: Resource Manager says what may be done without its being done.
func TestMissingPermissions(t *testing.T) {
	asked := 0
	p := must2(New(Config{Project: testProject, HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "cloudresourcemanager.googleapis.com" {
			return nil, io.ErrUnexpectedEOF
		}
		var body struct{ Permissions []string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		asked += len(body.Permissions)
		granted := slices.DeleteFunc(body.Permissions, func(p string) bool { return p == "compute.urlMaps.update" })
		text, err := json.Marshal(map[string]any{"permissions": granted})
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(text))), Request: r}, err
	})}))(t)
	e := &examination{Provider: p}
	e.changes(t.Context())
	if got := checkOf(e.checks, "permissions to change"); !strings.HasPrefix(got, "2 missing: compute.urlMaps.update;") || asked != len(Permissions()) {
		t.Errorf("%q after %d were asked for, want the missing one of %d", got, asked, len(Permissions()))
	}
}
