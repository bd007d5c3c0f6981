package gcp

import (
	jsonv2 "encoding/json/v2"
	"strconv"
	"time"

	"gatehouse.dev/lbmodel"
)

// ownership is what a thing's description says of it: whose it is, and what the APIs
// have no field for. It is a description, since only some kinds have labels, and those
// take neither capitals nor dots. It is given with the call that makes the thing, so
// nothing of ours is ever without.
type ownership struct {
	Cluster   string `json:"gatehouse.dev/cluster"`
	Kind      string `json:"kind,omitzero"` // the owner's; without one the thing is shared by the cluster
	Namespace string `json:"namespace,omitzero"`
	Name      string `json:"name,omitzero"`
	UID       string `json:"uid,omitzero"`
	// Address is how the Spec names an address of which the API tells the value only.
	Address string `json:"address,omitzero"`
	// Firewall is the rule of ours that lets the load balancer reach a backend service's
	// endpoints: it goes after that.
	Firewall string            `json:"firewall,omitzero"`
	Identity *lbmodel.Identity `json:"identity,omitzero"` // of a certificate
	Dropped  map[string]int64  `json:"dropped,omitempty"` // since when roots are not published any more, by fingerprint
	Unwanted int64             `json:"unwanted,omitzero"` // since when it is kept although nobody wants it
}

// labelUnwanted is that time with what has labels and a description that cannot be
// changed. No label of a Gateway's becomes it: see labelsOf.
const labelUnwanted = "gatehouse-unwanted"

// ownershipFor is that of a resource that is made, or changed.
func ownershipFor(owner lbmodel.Owner, hold lbmodel.Hold, spec lbmodel.Spec) ownership {
	out := ownership{Cluster: owner.Cluster}
	if hold != lbmodel.Shared {
		out.Kind, out.Namespace, out.Name, out.UID = owner.Kind, owner.Namespace, owner.Name, owner.UID
	}
	switch spec := spec.(type) {
	case *Address:
		out.Address = spec.Address
	case *ForwardingRule:
		out.Address = string(spec.IPAddress)
	case *BackendService:
		out.Firewall = string(spec.firewall)
	case *Certificate:
		out.Identity = &spec.Identity
	case *TrustConfig:
		out.Dropped = droppedRoots(spec.Roots)
	}
	return out
}

// droppedKey is how much of a fingerprint tells the roots of a bundle apart: 64 bits.
const droppedKey = 16

func droppedRoots(roots []lbmodel.Root) map[string]int64 {
	out := map[string]int64{}
	for _, r := range roots {
		if !r.Dropped.IsZero() {
			out[r.SHA256[:min(droppedKey, len(r.SHA256))]] = r.Dropped.Unix()
		}
	}
	return out
}

// ownershipOf reads a description; false for one that is not ours.
func ownershipOf(description string) (out ownership, ours bool) {
	if len(description) == 0 || description[0] != '{' || jsonv2.Unmarshal([]byte(description), &out) != nil {
		return ownership{}, false
	}
	return out, out.Cluster != ""
}

// text is the description.
func (o ownership) text() string { return encode(o) }

// owner is who it belongs to; the zero Name is everybody in the cluster.
func (o ownership) owner() lbmodel.Owner {
	return lbmodel.Owner{Cluster: o.Cluster, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
}

// hold is ours, or everybody's of the cluster.
func (o ownership) hold() lbmodel.Hold {
	if o.Name == "" {
		return lbmodel.Shared
	}
	return lbmodel.Own
}

// unwanted is since when it is kept although nobody wants it; labels count where it has
// some.
func (o ownership) unwanted(labels map[string]string) time.Time {
	at := o.Unwanted
	if text, ok := labels[labelUnwanted]; ok {
		at, _ = strconv.ParseInt(text, 10, 64) // what cannot be read is no note: the wait begins anew
	}
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(at, 0).UTC()
}

// othersLabels are the labels that are the gateway's.
func othersLabels(labels map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range labels {
		if key != labelUnwanted {
			out[key] = value
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
