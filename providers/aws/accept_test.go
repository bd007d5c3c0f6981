package aws

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/lbmodel"
)

// Why: what Compile makes, AWS must take: each rule, target group and listener, with
// its checks as strict as its documents can be read.
func TestAWSTakesWhatIsCompiled(t *testing.T) {
	gateways := map[string]lbmodel.Gateway{}
	for _, name := range []string{"http-packing", "isolation", "grpc", "rewrites-and-redirects", "network", "behind-network"} {
		gateways[name] = readGateway(t, "testdata/"+name+"/gateway.yaml")
	}
	for seed := range uint64(12) {
		gateways[fmt.Sprint("seed ", seed)] = newDice(seed).gateway([]string{strictSettings, assumedSettings}[seed%2])
	}
	for name, gw := range gateways {
		t.Run(name, func(t *testing.T) {
			own, _, _ := Compiler{}.Compile(gw)
			a := newAccount(t)
			a.certificate = a.importCertificate()
			for _, kind := range []string{KindLoadBalancer, KindTargetGroup, KindListener, KindRule} {
				a.create(own, kind)
			}
			if a.made < 3 {
				t.Errorf("%d resources", a.made)
			}
		})
	}
}

// account is an emulated one, and what was made in it.
type account struct {
	*testing.T
	client      http.Client
	arns        map[Ref]string
	certificate string
	made        int
}

func newAccount(t *testing.T) *account {
	api := newEmulator(t, awsapi.Config{Undocumented: elb.Undocumented{HeaderNameCounts: true, ThreePerCondition: true}})
	return &account{T: t, client: http.Client{Transport: api}, arns: map[Ref]string{}}
}

// call is one call to Elastic Load Balancing; it returns what answers pattern.
func (a *account) call(form url.Values, pattern string) string {
	a.Helper()
	form.Set("Version", "2015-12-01")
	return a.send("elasticloadbalancing", "application/x-www-form-urlencoded", form.Encode(), pattern)
}

func (a *account) send(service, contentType, body, pattern string) string {
	a.Helper()
	req, err := http.NewRequestWithContext(a.Context(), http.MethodPost, "http://aws.test", strings.NewReader(body))
	if err != nil {
		a.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20261201/us-east-1/"+service+"/aws4_request")
	req.Header.Set("X-Amz-Target", "CertificateManager.ImportCertificate")
	res, err := a.client.Do(req)
	if err != nil {
		a.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if err != nil || res.StatusCode != http.StatusOK || found == nil {
		a.Fatalf("%d, %v: %s\nof %s", res.StatusCode, err, text, body)
	}
	return string(found[1])
}

func (a *account) importCertificate() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"a.test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		a.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	body := fmt.Sprintf(`{"Certificate":%q,"PrivateKey":%q}`, block("CERTIFICATE", der), block("PRIVATE KEY", secret))
	return a.send("acm", "application/x-amz-json-1.1", body, `"(arn:[^"]+)"`)
}

// create makes all resources of a kind.
func (a *account) create(g lbmodel.Graph, kind string) {
	ids := slices.SortedFunc(func(yield func(lbmodel.ID) bool) {
		for id := range g {
			if id.Kind == kind && !yield(id) {
				return
			}
		}
	}, lbmodel.ID.Compare)
	for _, id := range ids {
		form := url.Values{"Action": {"Create" + kind}, "Name": {id.Name}}
		switch spec := g[id].Spec.(type) {
		case *LoadBalancer:
			set(form, "Type", spec.Type, "Scheme", spec.Scheme, "IpAddressType", spec.IPAddressType)
			list(form, "Subnets", "subnet-00000000000000001", "subnet-00000000000000002")
		case *TargetGroup:
			a.group(form, spec)
		case *Listener:
			a.listener(form, spec)
		case *Rule:
			a.rule(form, spec)
		}
		a.arns[refTo(id)] = a.call(form, "<"+kind+`Arn>([^<]+)<`)
		a.made++
	}
}

func (a *account) group(form url.Values, g *TargetGroup) {
	set(form, "Protocol", g.Protocol, "ProtocolVersion", g.Version, "Port", fmt.Sprint(g.Port), "TargetType", g.TargetType, "IpAddressType", g.Family,
		"VpcId", "vpc-0a1b2c3d4e5f60718", "HealthCheckProtocol", g.Health.Protocol, "HealthCheckPath", g.Health.Path,
		"HealthCheckIntervalSeconds", fmt.Sprint(g.Health.Interval), "HealthCheckTimeoutSeconds", fmt.Sprint(g.Health.Timeout),
		"HealthyThresholdCount", fmt.Sprint(g.Health.Healthy), "UnhealthyThresholdCount", fmt.Sprint(g.Health.Unhealthy))
	code := "Matcher.HttpCode"
	if g.Version == versionGRPC {
		code = "Matcher.GrpcCode"
	}
	set(form, code, g.Health.Matcher)
}

func (a *account) listener(form url.Values, l *Listener) {
	form.Del("Name")
	set(form, "LoadBalancerArn", a.arns[l.LoadBalancer], "Port", fmt.Sprint(l.Port), "Protocol", l.Protocol, "SslPolicy", l.TLSPolicy)
	if l.Certificate != "" {
		set(form, "Certificates.member.1.CertificateArn", a.certificate)
	}
	a.action(form, "DefaultActions.member.1.", &l.Default)
}

func (a *account) rule(form url.Values, r *Rule) {
	form.Del("Name")
	set(form, "ListenerArn", a.arns[r.Listener], "Priority", fmt.Sprint(r.Priority))
	for i, c := range r.Conditions {
		at := fmt.Sprintf("Conditions.member.%d.", i+1)
		config := at + map[string]string{fieldHost: "HostHeaderConfig.", fieldPath: "PathPatternConfig.", fieldHeader: "HttpHeaderConfig.",
			fieldMethod: "HttpRequestMethodConfig.", fieldSource: "SourceIpConfig."}[c.Field]
		set(form, at+"Field", c.Field, config+"HttpHeaderName", c.Header)
		list(form, config+"Values", c.Values...)
		list(form, config+"RegexValues", c.Regex...)
	}
	for i, t := range r.Transforms {
		at := fmt.Sprintf("Transforms.member.%d.", i+1)
		config := at + map[string]string{rewriteHost: "HostHeaderRewriteConfig.", rewriteURL: "UrlRewriteConfig."}[t.Type] + "Rewrites.member.1."
		set(form, at+"Type", t.Type, config+"Regex", t.Regex, config+"Replace", t.Replace)
	}
	a.action(form, "Actions.member.1.", &r.Action)
}

func (a *account) action(form url.Values, at string, act *Action) {
	switch {
	case act.Fixed != nil:
		set(form, at+"Type", "fixed-response", at+"FixedResponseConfig.StatusCode", fmt.Sprint(act.Fixed.Status),
			at+"FixedResponseConfig.ContentType", act.Fixed.ContentType, at+"FixedResponseConfig.MessageBody", act.Fixed.Body)
	case act.Redirect != nil:
		r := act.Redirect
		config := at + "RedirectConfig."
		set(form, at+"Type", "redirect", config+"StatusCode", fmt.Sprintf("HTTP_%d", r.Status), config+"Protocol", r.Protocol,
			config+"Host", r.Host, config+"Port", r.Port, config+"Path", r.Path, config+"Query", r.Query)
	default:
		set(form, at+"Type", "forward")
		for i, s := range act.Forward {
			group := fmt.Sprintf("%sForwardConfig.TargetGroups.member.%d.", at, i+1)
			set(form, group+"TargetGroupArn", a.arns[s.Group], group+"Weight", fmt.Sprint(s.Weight))
		}
	}
}

// set is pairs of names and values; an empty value is left out.
func set(form url.Values, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			form.Set(pair[0], pair[1])
		}
	}
}

func list(form url.Values, name string, values ...string) {
	for i, v := range values {
		form.Set(fmt.Sprintf("%s.member.%d", name, i+1), v)
	}
}
