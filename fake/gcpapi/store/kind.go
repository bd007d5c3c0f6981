package store

// Kind says what there is to know of the resources of one collection, in all scopes
// that it is in.
type Kind struct {
	Host       string // compute.googleapis.com
	Collection string // backendServices
	Noun       string // as messages have it: backend_service
	Schema     string // its definition in discovery: BackendService
	// Stamp is the field that changes with every write, and that a writer shows again:
	// fingerprint or etag; "" without one.
	Stamp string
	// Immutable are the fields (patterns of [Visit]) that no change may touch.
	Immutable []string
	// WriteOnly are the fields that are kept and never returned. Those whose name begins
	// with @ never are, and are the emulator's own.
	WriteOnly []string
	// References are the fields that name other resources.
	References []Reference
	// Quota is the metric that counts one of them: BACKEND_SERVICES, see [Config.Limits];
	// nil is unlimited.
	Quota func(Name, Object) string
	// Default fills in what the server fills in, after every change and before checks.
	Default func(v View, n Name, o Object)
	// Check refuses what neither the definitions nor the references do. was is nil for a
	// new resource.
	Check func(v View, n Name, was, o Object) error
	// Show adds what is computed when somebody reads (users, size). o is a copy that is
	// its own to change.
	Show func(v View, n Name, o Object)
	// Used refuses to delete what others use, in the API's words; nil is compute's.
	Used func(n Name, by []Name) *Error
}

// Reference is a field that names other resources.
type Reference struct {
	Field string // a pattern of [Visit]
	// To are the collections that it may name: sslCertificates of the kind's own service,
	// certificatemanager.googleapis.com/certificates of another one.
	To []string
	// Near references stay in the resource's own location: global, a region.
	Near bool
	// Weak references may name what is not there, and keep nobody from deleting it.
	Weak bool
	// Link gives the value its canonical form, as the API returns it; nil is the path.
	Link func(Name) string
}
