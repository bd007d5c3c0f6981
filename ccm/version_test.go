package ccm

import (
	"testing"

	"k8s.io/component-base/version"
)

// TestFrameworkVersion: whatever Go says of a build, the framework takes it, and people
// can tell the build from it.
func TestFrameworkVersion(t *testing.T) {
	tests := []struct {
		name string
		from build
		want string
	}{
		{"a commit", build{version: "v0.0.0-20261130224625-1bba82d00000"}, "v0.0.0-20261130224625-1bba82d00000"},
		{"a commit with edits", build{version: "v0.0.0-20261130224625-1bba82d00000+dirty"}, "v0.0.0-20261130224625-1bba82d00000+dirty"},
		{"a release", build{version: "v1.2.3"}, "v0.0.0-v1.2.3"},
		{"after a release", build{version: "v1.2.4-0.20261130224625-1bba82d00000+dirty"}, "v0.0.0-v1.2.4-0.20261130224625-1bba82d00000+dirty"},
		{"no version control", build{version: "(devel)"}, "v0.0.0-devel"},
		{"only the commit", build{version: "(devel)", commit: "1bba82d0000011112222"}, "v0.0.0-devel.g1bba82d00000"},
		{"nothing is known", build{version: "(unknown)"}, "v0.0.0-devel"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.from.frameworkVersion()
			if got != tt.want {
				t.Errorf("version %q, want %q", got, tt.want)
			}
			if err := version.ValidateDynamicVersion(got); err != nil {
				t.Errorf("the framework refuses it: %v", err)
			}
		})
	}
}
