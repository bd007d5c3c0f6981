package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of all our kinds.
const GroupName = "gatehouse.dev"

// GroupVersion is this package's group and version.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// AddToScheme makes the kinds known to a scheme, so that a client can read them.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&GatewayParameters{}, &GatewayParametersList{},
		&MeshBinding{}, &MeshBindingList{},
		&GatewayPlan{}, &GatewayPlanList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
