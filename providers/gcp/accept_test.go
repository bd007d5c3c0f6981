package gcp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/compute"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/lbmodel"
)

// Why: what Compile makes, Google Cloud must take, in the order in which a plan makes
// it: each body conforms to Google's definitions, and each reference leads to what fits.
func TestGoogleCloudTakesWhatIsCompiled(t *testing.T) {
	gateways := map[string]lbmodel.Gateway{}
	for _, path := range goldens(t) {
		gateways[filepath.Base(filepath.Dir(path))] = readGateway(t, path)
	}
	for seed := range uint64(8) {
		gateways[fmt.Sprint("seed ", seed)] = newDice(seed).gateway(settingsOf(proxyFlavours()[seed%4], []string{"", assumed}[seed/4]))
	}
	for name, gw := range gateways {
		t.Run(name, func(t *testing.T) {
			gw.Settings = bytes.ReplaceAll(gw.Settings, []byte("projects/host/"), []byte("projects/my-project/"))
			p := newProject(t)
			g := graphOf(gw, nil)
			plan, err := lbmodel.Diff(g, nil, p.foreign(g))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range plan.Steps {
				p.create(s.ID, s.Want)
			}
			if len(plan.Steps) < 8 || len(plan.Waiting()) > 0 {
				t.Errorf("%d steps, waiting: %v", len(plan.Steps), plan.Waiting())
			}
		})
	}
}

// project is an emulated one.
type project struct {
	*testing.T
	server      *gcpapi.Server
	certificate [2]string // with its key
}

func newProject(t *testing.T) *project {
	w := compute.World{
		Regions:  map[string][]string{"europe-west1": {"europe-west1-b", "europe-west1-c"}, "us-east1": {"us-east1-c"}},
		Networks: []string{"default", "prod", "shared"},
	}
	for i, n := range []struct{ name, region, network string }{
		{"default", "europe-west1", "default"}, {"lb-default", "us-east1", "default"}, {"lb", "europe-west1", "prod"}, {"eu", "europe-west1", "prod"}, {"us", "us-east1", "prod"}, {"shared", "europe-west1", "shared"},
	} {
		w.Subnetworks = append(w.Subnetworks, compute.Subnetwork{Name: n.name, Region: n.region, Network: n.network, Range: fmt.Sprintf("10.%d.0.0/20", i+1)})
	}
	w.Subnetworks[2].Range = "10.1.0.0/20" // the address that regional-internal-streams asks for
	w.Subnetworks[0].Range = "10.101.0.0/20"
	for i, network := range w.Networks {
		for j, region := range []string{"europe-west1", "us-east1"} {
			for k, purpose := range []string{"REGIONAL_MANAGED_PROXY", "GLOBAL_MANAGED_PROXY"} {
				w.Subnetworks = append(w.Subnetworks, compute.Subnetwork{Name: fmt.Sprint("proxies", i, j, k), Region: region, Network: network, Purpose: purpose, Range: fmt.Sprintf("10.%d.0.0/23", 200+10*i+4*j+k)})
			}
		}
		for j, zone := range []string{"europe-west1-b", "europe-west1-c"} {
			for k := range 4 {
				w.Instances = append(w.Instances, compute.Instance{Name: fmt.Sprint([]string{"", "node-", "node-"}[min(j+1, 2)], k), Zone: zone, Network: network,
					IP: fmt.Sprintf("10.%d.0.%d", 150+i, 10*j+k), Aliases: []string{"10.0.0.0/16"}})
			}
		}
	}
	p := &project{T: t, server: gcpapi.New(gcpapi.Config{Projects: []store.Project{{ID: "my-project", Number: "123456789012"}}, World: w, Undocumented: gcpapi.Undocumented{RefuseUnfit: true}})}
	p.certificate = p.makeCertificate()
	p.post("compute", "/compute/v1/projects/my-project/global/sslPolicies", map[string]any{"name": "modern"})
	return p
}

// foreign makes what somebody else has, and says what is there of it.
func (p *project) foreign(g lbmodel.Graph) lbmodel.Graph {
	out := lbmodel.Graph{}
	for id, r := range g {
		if r.Hold != lbmodel.External {
			continue
		}
		out[id] = r
		spec := r.Spec
		switch id.Kind {
		case KindAddress:
			spec = &Address{AddressType: "EXTERNAL", NetworkTier: "PREMIUM"}
		case KindBackendService:
			spec = &BackendService{LoadBalancingScheme: schemeInternal, Protocol: protocolHTTP, SessionAffinity: "NONE"}
		}
		p.create(id, spec)
	}
	return out
}

// create does the call that makes a resource.
func (p *project) create(id lbmodel.ID, spec lbmodel.Spec) {
	p.Helper()
	text, err := Body(spec, "my-project")
	if err != nil {
		p.Fatal(err)
	}
	body := map[string]any{}
	if err := json.Unmarshal(text, &body); err != nil {
		p.Fatal(err)
	}
	path := Path(id, "my-project")
	at, name := path[:strings.LastIndexByte(path, '/')], path[strings.LastIndexByte(path, '/')+1:]
	switch s := spec.(type) {
	case *NetworkEndpoints:
		if len(s.Endpoints) > 0 {
			p.post("compute", "/compute/v1/"+path+"/attachNetworkEndpoints", body)
		}
		return
	case *Certificate:
		body["selfManaged"] = map[string]any{"pemCertificate": p.certificate[0], "pemPrivateKey": p.certificate[1]}
	case *CertificateMapEntry:
		m, _ := s.Map.id()
		at = Path(m, "my-project") + "/certificateMapEntries"
	case *Address:
		delete(body, "labels") // they are set by another call
	case *ForwardingRule:
		delete(body, "labels")
	}
	if inLocations(id.Kind) == "" {
		body["name"] = name
		p.post("compute", "/compute/v1/"+at, body)
		return
	}
	api, _, _ := strings.Cut(service(id.Kind), ".")
	p.post(api, "/v1/"+at+"?"+strings.ToLower(id.Kind[:1])+id.Kind[1:]+"Id="+name, body)
}

func (p *project) post(api, path string, body map[string]any) {
	p.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		p.Fatal(err)
	}
	req, err := http.NewRequestWithContext(p.Context(), http.MethodPost, "https://"+api+".googleapis.com"+path, bytes.NewReader(text))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := p.server.RoundTrip(req)
	if err != nil {
		p.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	var op struct {
		Error any `json:"error"`
	}
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(answer, &op) != nil || op.Error != nil {
		p.Errorf("%s: %d %s\nof %s", path, res.StatusCode, answer, text)
	}
}

// makeCertificate is one that serves and is shown, with its key.
func (p *project) makeCertificate() [2]string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"a.test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		p.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		p.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return [2]string{block("CERTIFICATE", der), block("PRIVATE KEY", secret)}
}
