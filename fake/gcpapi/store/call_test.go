package store

import (
	"time"

	"gatehouse.dev/fake/gcpapi/schema"
)

func testCall(now time.Time) *Call {
	return &Call{API: &schema.API{Host: "h"}, Method: &schema.Method{ID: "h.things.insert", HTTP: "POST"}, Scope: "projects/p/global", Collection: "things", Now: now}
}
