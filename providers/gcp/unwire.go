package gcp

import (
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"fmt"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
)

// item is a thing as an API shows it.
type item struct {
	id   lbmodel.ID
	path string // projects/…
	body []byte

	own    ownership
	ours   bool
	fields envelope
}

// envelope are the fields that most things have.
type envelope struct {
	Name              string            `json:"name"`
	SelfLink          string            `json:"selfLink"`
	Description       string            `json:"description"`
	Labels            map[string]string `json:"labels"`
	Fingerprint       string            `json:"fingerprint"`
	LabelFingerprint  string            `json:"labelFingerprint"`
	Address           string            `json:"address"`           // of addresses
	IPAddress         string            `json:"IPAddress"`         // of forwarding rules
	ClientCertificate string            `json:"clientCertificate"` // of authentication configs
}

// itemOf reads what is common to all things. Of Compute the selfLink is where it is, of
// the other APIs the name.
func (n *names) itemOf(kind string, body []byte) (item, error) {
	out := item{body: body}
	if err := jsonv2.Unmarshal(body, &out.fields); err != nil {
		return item{}, fmt.Errorf("a %s cannot be read: %w", kind, err)
	}
	out.path = n.path(out.fields.Name)
	if !strings.HasPrefix(out.path, "projects/") {
		out.path = n.path(out.fields.SelfLink)
	}
	out.own, out.ours = ownershipOf(out.fields.Description)
	out.id = lbmodel.ID{Kind: kind, Location: locationOf(out.path), Name: lastOf(out.path)}
	return out, nil
}

func lastOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// locationOf is that of a path: projects/P/global/…, projects/P/regions/R/….
func locationOf(path string) string {
	parts := strings.Split(path, "/")
	switch {
	case len(parts) > 2 && parts[2] == global:
		return global
	case len(parts) > 3:
		return parts[3]
	default:
		return ""
	}
}

// names tells what the APIs' references stand for.
type names struct {
	project string
	ours    map[string]lbmodel.ID // by path
	ips     map[string]string     // of addresses, by path
	shows   map[lbmodel.ID]bool   // authentication configs that show a client certificate
}

// path is a reference's path, from projects/ on, with our project by its ID: some
// answers have its number. A thing of ours has a name that is a hash of whose it is, so
// it is known by that.
func (n *names) path(reference string) string {
	i := strings.Index(reference, "projects/")
	if i < 0 {
		return reference
	}
	path := reference[i:]
	parts := strings.SplitN(path, "/", 3)
	if len(parts) < 3 || strings.Trim(parts[1], "0123456789") != "" {
		return path
	}
	return "projects/" + n.project + "/" + parts[2]
}

// ref is how a Spec names what a reference leads to: ours by its ID, others' of our
// kinds by an ID with the path as name, and the rest by its path.
func (n *names) ref(reference string) string {
	path := n.path(reference)
	compute := strings.Replace(path, "/locations/", "/regions/", 1) // a TlsRoute has those of Compute that way
	if strings.Contains(path, "/locations/global/") {
		compute = strings.Replace(path, "/locations/global/", "/global/", 1)
	}
	for _, p := range []string{path, compute} {
		if id, ours := n.ours[p]; ours {
			return id.String()
		}
	}
	parts := strings.Split(path, "/")
	if len(parts) < 5 || parts[0] != "projects" {
		return reference
	}
	kind := kindOf(parts[len(parts)-2])
	if kind == "" {
		return path
	}
	return lbmodel.ID{Kind: kind, Location: locationOf(path), Name: path}.String()
}

// kindOf is the kind of a collection; "" is none of ours.
func kindOf(collected string) string {
	for _, kind := range kinds() {
		if collection(kind) == collected {
			return kind
		}
	}
	return ""
}

// unmarshalers read references.
func (n *names) unmarshalers() *jsonv2.Unmarshalers {
	return jsonv2.JoinUnmarshalers(
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, r *Ref) error { return readRef(d, n, r) }),
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, r *NamedRef) error { return readRef(d, n, r) }),
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, r *LocatedRef) error { return readRef(d, n, r) }),
	)
}

func readRef[T ~string](d *jsontext.Decoder, n *names, to *T) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	*to = T(n.ref(token.String()))
	return nil
}

// canonical is a Spec that has the server's defaults where it states nothing.
type canonical interface {
	// canonical takes away what a Spec would not state, and adds what only the
	// description tells.
	canonical(n *names, i *item)
}

// specOf reads a thing as a Spec that equals the one that it was made of.
func (n *names) specOf(i *item) (lbmodel.Spec, error) {
	spec := blank(i.id.Kind)
	if spec == nil {
		return nil, fmt.Errorf("there are no resources of kind %s", i.id.Kind)
	}
	if err := jsonv2.Unmarshal(i.body, spec, jsonv2.WithUnmarshalers(n.unmarshalers())); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", i.id, err)
	}
	if c, ok := spec.(canonical); ok {
		c.canonical(n, i)
	}
	return spec, nil
}

// kinds are all that are observed by lists, each before what refers to it would not
// help: see observer.list.
func kinds() []string {
	return []string{
		KindAddress, KindForwardingRule, KindTargetHTTPProxy, KindTargetHTTPSProxy, KindTargetTCPProxy, KindURLMap, KindBackendService,
		KindHealthCheck, KindNetworkEndpointGroup, KindFirewall, KindTrustConfig, KindCertificate, KindCertificateMap, KindCertificateMapEntry,
		KindBackendAuthenticationConfig, KindServerTLSPolicy, KindTLSRoute,
	}
}

func blank(kind string) lbmodel.Spec {
	switch kind {
	case KindAddress:
		return &Address{}
	case KindForwardingRule:
		return &ForwardingRule{}
	case KindTargetHTTPProxy:
		return &TargetHTTPProxy{}
	case KindTargetHTTPSProxy:
		return &TargetHTTPSProxy{}
	case KindTargetTCPProxy:
		return &TargetTCPProxy{}
	case KindURLMap:
		return &URLMap{}
	case KindBackendService:
		return &BackendService{}
	case KindHealthCheck:
		return &HealthCheck{}
	case KindNetworkEndpointGroup:
		return &NetworkEndpointGroup{}
	case KindFirewall:
		return &Firewall{}
	default:
		return blankLocated(kind)
	}
}

func blankLocated(kind string) lbmodel.Spec {
	switch kind {
	case KindTrustConfig:
		return &TrustConfig{}
	case KindCertificate:
		return &Certificate{}
	case KindCertificateMap:
		return &CertificateMap{}
	case KindCertificateMapEntry:
		return &CertificateMapEntry{}
	case KindBackendAuthenticationConfig:
		return &BackendAuthenticationConfig{}
	case KindServerTLSPolicy:
		return &ServerTLSPolicy{}
	case KindTLSRoute:
		return &TLSRoute{}
	default:
		return nil
	}
}

func (a *Address) canonical(_ *names, i *item) {
	a.Address, a.Labels = i.own.Address, othersLabels(a.Labels)
	internal := a.AddressType == "INTERNAL"
	if !internal {
		a.Purpose, a.Subnetwork = "", ""
	}
	if i.id.Location == global || internal {
		a.NetworkTier = ""
	}
	if i.id.Location != global {
		a.IPVersion = ""
	}
}

func (f *ForwardingRule) canonical(n *names, i *item) {
	f.Labels = othersLabels(f.Labels)
	if from, until, ok := strings.Cut(f.PortRange, "-"); ok && from == until {
		f.PortRange = from
	}
	if told := Ref(i.own.Address); n.isAt(told, string(f.IPAddress)) {
		f.IPAddress = told
	}
	internal := strings.HasPrefix(f.LoadBalancingScheme, "INTERNAL")
	if internal {
		f.NetworkTier = ""
	} else {
		f.Subnetwork, f.AllowGlobalAccess = "", false
	}
	if !internal && (f.LoadBalancingScheme == schemePassthrough || i.id.Location == global) {
		f.Network = ""
	}
	if !internal && i.id.Location == global {
		f.NetworkTier = ""
	}
}

// isAt says whether an address has a value, as far as that can be known: an address of
// another project is not seen, and the rule cannot change it.
func (n *names) isAt(told Ref, value string) bool {
	id, ok := told.id()
	if !ok {
		return false // by value
	}
	ip, seen := n.ips[Path(id, n.project)]
	return ip == value || !seen
}

// unlimited is a balancing mode that only groups on the internet have; it is the
// server's word for none.
const unlimited = "UTILIZATION"

func (b *BackendService) canonical(n *names, i *item) {
	b.firewall = Ref(i.own.Firewall)
	if b.LoadBalancingScheme == schemePassthrough || b.LoadBalancingScheme == schemePassthroughHere {
		b.TimeoutSec = 0
	}
	for j := range b.Backends {
		if b.Backends[j].BalancingMode == unlimited {
			b.Backends[j].BalancingMode = ""
		}
	}
	if b.TLSSettings != nil {
		id, _ := Ref(b.TLSSettings.AuthenticationConfig).id()
		b.presents = n.shows[id]
	}
}

func (f *Firewall) canonical(*names, *item) {
	slices.Sort(f.SourceRanges)
	slices.Sort(f.TargetTags)
}

func (m *CertificateMap) canonical(*names, *item) { m.Labels = othersLabels(m.Labels) }

func (e *CertificateMapEntry) canonical(n *names, i *item) {
	if within, _, ok := strings.Cut(i.path, "/certificateMapEntries/"); ok {
		e.Map = Ref(n.ref(within))
	}
}
