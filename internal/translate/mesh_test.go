package translate

import (
	"encoding/json"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/linkerd"
)

// meshOptions know two meshes, and beside providers that offer everything one
// called gcplike that has no say in ALPN nor in TLS versions, one called plain that
// has no TLS to backends at all, and one called coarse with small weights.
func meshOptions() Options {
	o := testOptions()
	o.Dialects = map[string]meshsync.Dialect{istio.Controller: istio.Dialect{}, linkerd.Controller: linkerd.Dialect{}}
	o.Refusals = true
	o.Offers = func(provider string, _ json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
		f := lbmodel.FullFeatures()
		switch provider {
		case "gcplike":
			delete(f.Has, lbmodel.FeatureBackendTLSALPN)
			delete(f.Has, lbmodel.FeatureBackendTLSMin13)
		case "plain":
			delete(f.Has, lbmodel.FeatureBackendTLSTrust)
			delete(f.Has, lbmodel.FeatureBackendTLSIdentity)
		case "coarse":
			f.Limits.MaxWeight = 100
		}
		return f, nil
	}
	return o
}
