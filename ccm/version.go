package ccm

import (
	"fmt"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/version"
)

// frameworkVersion is a build as the framework's own version has to look, which its
// log begins with: it takes no other release than the 0.0.0 that it was compiled with.
func (b build) frameworkVersion() string {
	const release = "v0.0.0-"
	own := b.version
	if strings.HasPrefix(own, release) {
		return own // a version that Go made of a commit
	}
	if _, err := utilversion.ParseSemantic(own); err != nil {
		own = "devel" // built without version control
		if len(b.commit) >= 12 {
			own += ".g" + b.commit[:12]
		}
	}
	return release + own
}

// nameVersion has the framework log what this program was built from, and not its own
// placeholder.
func nameVersion() error {
	if err := version.SetDynamicVersion(built().frameworkVersion()); err != nil {
		return fmt.Errorf("version of the manager: %w", err)
	}
	return nil
}
