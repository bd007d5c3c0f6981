package demo

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
)

// Report is what a demo found. Failed counts requests under load that did not get
// a 200, and requests of the tour that were not answered as they should be.
type Report struct {
	Failed     int            `json:"failed"`
	Tour       []Visit        `json:"tour"`
	Canary     map[string]int `json:"canary"` // answers by backend, of the weighted rule
	Rotation   Rotation       `json:"rotation"`
	SecondPlan int            `json:"secondPlan"` // steps of a plan right after the apply: 0
	Seconds    float64        `json:"seconds"`
}

// Visit is one request of the tour.
type Visit struct {
	What   string `json:"what"`
	URL    string `json:"url"`
	Status int    `json:"status"`
	Answer string `json:"answer"`
	Wanted int    `json:"wanted"` // the status it should be
}

// Rotation is the load's view of the mesh's CA being rotated.
type Rotation struct {
	loadReport
	Stages []Stage `json:"stages"`
	// Handshakes count TLS sessions between gateway and mesh by the CA that
	// signed the certificate: the one that the gateway showed, and the one that
	// the backends showed.
	Handshakes Handshakes `json:"handshakes"`
}

// Handshakes by the name of the root.
type Handshakes struct {
	Gateway map[string]int `json:"byRootOfGateway"`
	Backend map[string]int `json:"byRootOfBackend"`
}

// Stage is one step of a rotation.
type Stage struct {
	Name     string `json:"name"`
	Changes  int    `json:"changes"`  // steps of the plan
	Requests int    `json:"requests"` // since the stage before
	Failed   int    `json:"failed"`
}

func (r Report) writeJSON(w io.Writer) error {
	text, err := json.Marshal(r, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("the demo's report: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}
