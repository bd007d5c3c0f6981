package store

import (
	"net/url"
	"time"

	"gatehouse.dev/fake/gcpapi/schema"
)

// Call is a request that has been routed, checked against the API's definitions, and
// decoded: the body has no unknown field, only enum values that there are, and nothing
// that is output only.
type Call struct {
	API    *schema.API
	Method *schema.Method
	// Of the path: projects/p/global, backendServices, b. ID is "" for methods of a
	// collection.
	Scope, Collection, ID string
	Query                 url.Values
	Body                  Object // nil without one; fields that were null are there with nil
	Now                   time.Time
	Caller                string        // the user agent
	Uses                  []Name        // what a change newly refers to; the store notes it
	Stale                 bool          // a list answers as before the last change
	Fail                  *Error        // the operation is accepted, and ends with this
	NotReady              time.Duration // what it makes stays unusable for so long after the operation
}

// Name is what the call is about; of methods of a collection, their scope.
func (c *Call) Name() Name {
	if c.ID == "" {
		return NameOf(c.API.Host, c.Scope)
	}
	return c.Member(c.ID)
}

// Member names a resource of the collection that the call is about.
func (c *Call) Member(id string) Name {
	if c.Scope == "" { // projects
		return NameOf(c.API.Host, c.Collection+"/"+id)
	}
	return NameOf(c.API.Host, c.Scope+"/"+c.Collection+"/"+id)
}

// Service is one API of the project. All its methods run one at a time.
type Service struct {
	API *schema.API
	// Do answers a call with what the body is to be, or with an [*Error]. Methods that
	// are not emulated answer with [Unimplemented].
	Do func(*Call) (Object, error)
	// Refuse is an error as the API writes it: the body of the response.
	Refuse func(*Error) Object
	// Group is the quota group whose calls a minute are counted together, with the region
	// after a slash if it is counted by region; "" is none.
	Group func(*Call) string
}
