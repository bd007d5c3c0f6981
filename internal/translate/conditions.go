package translate

import "strings"

// The condition types of findings and statuses. Those of Gateway API are spelt
// alike on all its kinds.
const (
	condAccepted     = "Accepted"
	condProgrammed   = "Programmed"
	condResolvedRefs = "ResolvedRefs"
	condConflicted   = "Conflicted"
	condOverlapping  = "OverlappingTLSConfig"
	condPartial      = "PartiallyInvalid"
	condInsecure     = "InsecureFrontendValidationMode"
	condVersion      = "SupportedVersion"

	// CondInSync says on a Gateway whether the cloud is as it should be.
	CondInSync = "gatehouse.dev/InSync"
	// CondBackendTLS says on a route's parent how its backend hops are protected.
	CondBackendTLS = "gatehouse.dev/BackendTLS"
	// CondMeshMember says on a Gateway how far it is a member of the meshes whose
	// bindings let it in.
	CondMeshMember = "gatehouse.dev/MeshMember"
	// CondOutboundConflict says on a route's parent that clients inside the mesh are
	// routed otherwise than by this gateway.
	CondOutboundConflict = "gatehouse.dev/OutboundConflict"
)

// Reasons that several kinds share, and those that are ours.
const (
	reasonRefNotPermitted  = "RefNotPermitted"
	reasonUnsupportedValue = "UnsupportedValue"
	reasonInvalid          = "Invalid"
	reasonPending          = "Pending"

	reasonInvalidBackend    = "InvalidBackend"
	reasonInvalidBackendTLS = "InvalidBackendTLS"
	reasonBelowMinimum      = "BelowMinimum"
	reasonEndpointsRefused  = "EndpointsRefused"
	reasonProtected         = "Protected"
	reasonNotMeshed         = "NotMeshed"
	reasonUnknownMesh       = "UnknownMesh"
	reasonMeshRoute         = "MeshRoute"

	reasonPortsNotValid      = "PortsNotValid"
	reasonInvalidSourceRange = "InvalidSourceRange"
	reasonDeleting           = "Deleting"
)

// OwnCondition says whether a condition type is one that Status writes, on
// whatever object. All others belong to somebody else.
func OwnCondition(kind string) bool {
	switch kind {
	case condAccepted, condProgrammed, condResolvedRefs, condConflicted, condOverlapping, condPartial, condInsecure, condVersion:
		return true
	}
	domain, _, _ := strings.Cut(kind, "/")
	return domain == groupGatehouse || strings.HasSuffix(domain, "."+groupGatehouse)
}
