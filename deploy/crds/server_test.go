package crds

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// TestServerTakes has the definitions judged as an API server does before it takes them:
// it also runs every rule over the defaults, at which no other default is filled in.
func TestServerTakes(t *testing.T) {
	for kind, crd := range definitions(t) {
		t.Run(kind, func(t *testing.T) {
			crd.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
			apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
			var in apiextensions.CustomResourceDefinition
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, &in, nil); err != nil {
				t.Fatal(err)
			}
			for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), &in) {
				t.Error(err)
			}
		})
	}
}
