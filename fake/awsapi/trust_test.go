package awsapi_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"gatehouse.dev/fake/awsapi"
	sub "gatehouse.dev/fake/awsapi/elb"
)

// authority signs certificates, in the account's time.
type authority struct {
	*world
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func (w *world) authority() *authority {
	w.Helper()
	out := &authority{world: w}
	der, key := out.make(&x509.Certificate{Subject: pkix.Name{CommonName: "root"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}, nil)
	out.key = key
	out.cert, _ = x509.ParseCertificate(der)
	return out
}

func (a *authority) make(template, parent *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotBefore.IsZero() {
		template.NotBefore, template.NotAfter = a.clock.Now().Add(-time.Hour), a.clock.Now().Add(90*24*time.Hour)
	}
	signer := a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.Fatal(err)
	}
	return der, key
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func (a *authority) bundle() []byte { return block("CERTIFICATE", a.cert.Raw) }

// leaf is what an import of a new certificate for a name carries.
func (a *authority) leaf(change ...func(*x509.Certificate)) *acm.ImportCertificateInput {
	a.Helper()
	template := &x509.Certificate{DNSNames: []string{"a.example.com"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, c := range change {
		c(template)
	}
	der, key := a.make(template, a.cert)
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	return &acm.ImportCertificateInput{Certificate: block("CERTIFICATE", der), PrivateKey: block("EC PRIVATE KEY", raw), CertificateChain: a.bundle()}
}

func (a *authority) imported() string {
	a.Helper()
	out, err := a.acm.ImportCertificate(a.Context(), a.leaf())
	if err != nil {
		a.Fatal(err)
	}
	return *out.CertificateArn
}

// A certificate is renewed under its ARN, and stays while a listener has it.
func TestCertificates(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	ca := w.authority()
	arn, second := ca.imported(), ca.imported()
	lb := w.lb("shop")
	listener := *must(w, w.elb.CreateListener, &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(443), Protocol: types.ProtocolEnumHttps,
		Certificates: []types.Certificate{{CertificateArn: &arn}}, DefaultActions: notFound()}).Listeners[0].ListenerArn
	must(w, w.elb.AddListenerCertificates, &elb.AddListenerCertificatesInput{ListenerArn: &listener, Certificates: []types.Certificate{{CertificateArn: &second}}})
	if got := code(w, w.elb.AddListenerCertificates, &elb.AddListenerCertificatesInput{ListenerArn: &listener, Certificates: []types.Certificate{{CertificateArn: &second}, {CertificateArn: &arn}}}); got != "TooManyCertificates" {
		t.Errorf("two certificates in one call: %q", got)
	}
	both := must(w, w.elb.DescribeListenerCertificates, &elb.DescribeListenerCertificatesInput{ListenerArn: &listener}).Certificates
	if len(both) != 2 || !*both[0].IsDefault || *both[1].IsDefault {
		t.Errorf("the listener's certificates are %+v", both)
	}
	described, err := w.acm.DescribeCertificate(t.Context(), &acm.DescribeCertificateInput{CertificateArn: &arn})
	if err != nil || !slices.Equal(described.Certificate.InUseBy, []string{*lb.LoadBalancerArn}) || described.Certificate.KeyAlgorithm != acmtypes.KeyAlgorithmEcPrime256v1 {
		t.Errorf("described as %+v: %v", described, err)
	}
	if _, err := w.acm.DeleteCertificate(t.Context(), &acm.DeleteCertificateInput{CertificateArn: &second}); codeOf(err) != "ResourceInUseException" {
		t.Errorf("a certificate in use can be deleted: %v", err)
	}
	before := *described.Certificate.Serial
	renewal := ca.leaf()
	renewal.CertificateArn = &arn
	if _, err := w.acm.ImportCertificate(t.Context(), renewal); err != nil {
		t.Error(err)
	}
	after, err := w.acm.DescribeCertificate(t.Context(), &acm.DescribeCertificateInput{CertificateArn: &arn})
	if err != nil || *after.Certificate.Serial == before {
		t.Errorf("the renewal has no effect: %v", err)
	}
	must(w, w.elb.RemoveListenerCertificates, &elb.RemoveListenerCertificatesInput{ListenerArn: &listener, Certificates: []types.Certificate{{CertificateArn: &second}}})
	if _, err := w.acm.DeleteCertificate(t.Context(), &acm.DeleteCertificateInput{CertificateArn: &second}); err != nil {
		t.Error(err)
	}
	listed, err := w.acm.ListCertificates(t.Context(), &acm.ListCertificatesInput{})
	all, err2 := w.acm.ListCertificates(t.Context(), &acm.ListCertificatesInput{Includes: &acmtypes.Filters{KeyTypes: []acmtypes.KeyAlgorithm{acmtypes.KeyAlgorithmEcPrime256v1}}})
	if err != nil || err2 != nil || len(listed.CertificateSummaryList) != 0 || len(all.CertificateSummaryList) != 1 {
		t.Errorf("EC keys are listed only when they are asked for: %d, %d, %v %v", len(listed.CertificateSummaryList), len(all.CertificateSummaryList), err, err2)
	}
	if dump := w.Dump(); strings.Contains(dump, "PRIVATE") || !strings.Contains(dump, arn) {
		t.Errorf("the dump is %s", dump)
	}
}

// ACM refuses what is not fit to serve.
func TestImportsAreChecked(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	ca := w.authority()
	arn := ca.imported()
	for _, c := range []struct {
		name, why string
		in        *acm.ImportCertificateInput
		change    func(*acm.ImportCertificateInput)
	}{
		{"spiffe", "it has neither a DNS name nor an address", ca.leaf(func(c *x509.Certificate) {
			c.DNSNames, c.URIs = nil, []*url.URL{{Scheme: "spiffe", Host: "mesh", Path: "/a"}}
		}), nil},
		{"early", "it is not valid yet", ca.leaf(func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = w.clock.Now().Add(time.Minute), w.clock.Now().Add(time.Hour)
		}), nil},
		{"key", "the key is another's", ca.leaf(), func(in *acm.ImportCertificateInput) { in.PrivateKey = ca.leaf().PrivateKey }},
		{"chain", "the chain begins with the leaf", ca.leaf(), func(in *acm.ImportCertificateInput) {
			in.CertificateChain = append(bytes.Clone(in.Certificate), in.CertificateChain...)
		}},
		{"names", "a renewal keeps a name", ca.leaf(func(c *x509.Certificate) { c.DNSNames = []string{"b.example.com"} }), func(in *acm.ImportCertificateInput) { in.CertificateArn = &arn }},
		{"usage", "a renewal keeps ServerAuth", ca.leaf(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), func(in *acm.ImportCertificateInput) { in.CertificateArn = &arn }},
		{"tags", "a renewal has no tags", ca.leaf(), func(in *acm.ImportCertificateInput) {
			in.CertificateArn, in.Tags = &arn, []acmtypes.Tag{{Key: aws.String("a")}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.change != nil {
				c.change(c.in)
			}
			if _, err := w.acm.ImportCertificate(t.Context(), c.in); codeOf(err) != "ValidationException" {
				t.Errorf("got %v: %s", err, c.why)
			}
		})
	}
}

func (w *world) put(key string, content []byte) string {
	w.Helper()
	out, err := w.s3.PutObject(w.Context(), &s3.PutObjectInput{Bucket: aws.String("trust"), Key: &key, Body: bytes.NewReader(content)})
	if err != nil {
		w.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

func (w *world) bucket() {
	w.Helper()
	if _, err := w.s3.CreateBucket(w.Context(), &s3.CreateBucketInput{Bucket: aws.String("trust")}); err != nil {
		w.Fatal(err)
	}
	if _, err := w.s3.PutBucketVersioning(w.Context(), &s3.PutBucketVersioningInput{Bucket: aws.String("trust"),
		VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled}}); err != nil {
		w.Fatal(err)
	}
}

// A bundle goes through S3 into a trust store, onto a listener, is rotated, and read back.
func TestTrustStores(t *testing.T) {
	w := newWorld(t, awsapi.Config{Times: awsapi.Times{Times: sub.Times{TrustStore: 10 * time.Second}}})
	w.bucket()
	ca, next := w.authority(), w.authority()
	version := w.put("roots.pem", ca.bundle())
	create := &elb.CreateTrustStoreInput{Name: aws.String("mesh"), CaCertificatesBundleS3Bucket: aws.String("trust"), CaCertificatesBundleS3Key: aws.String("roots.pem"), CaCertificatesBundleS3ObjectVersion: &version}
	store := must(w, w.elb.CreateTrustStore, create).TrustStores[0]
	if store.Status != types.TrustStoreStatusCreating || *store.NumberOfCaCertificates != 1 {
		t.Errorf("a new store is %+v", store)
	}
	if got := code(w, w.elb.CreateTrustStore, create); got != "DuplicateTrustStoreName" {
		t.Errorf("a second one of the name: %q", got)
	}
	arn := ca.imported()
	lb := w.lb("shop")
	verify := func(port int32) *elb.CreateListenerInput {
		return &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: &port, Protocol: types.ProtocolEnumHttps, Certificates: []types.Certificate{{CertificateArn: &arn}},
			DefaultActions: notFound(), MutualAuthentication: &types.MutualAuthenticationAttributes{Mode: aws.String("verify"), TrustStoreArn: store.TrustStoreArn}}
	}
	if got := code(w, w.elb.CreateListener, verify(443)); got != "TrustStoreNotReady" {
		t.Errorf("a store that is being created: %q", got)
	}
	w.clock.Advance(10 * time.Second)
	listener := must(w, w.elb.CreateListener, verify(443)).Listeners[0]
	if m := listener.MutualAuthentication; *m.Mode != "verify" || m.AdvertiseTrustStoreCaNames != "off" || m.TrustStoreAssociationStatus != "active" {
		t.Errorf("the listener verifies as %+v", m)
	}
	must(w, w.elb.CreateListener, verify(444))
	if got := code(w, w.elb.CreateListener, verify(445)); got != "InvalidConfigurationRequest" {
		t.Errorf("a third verifying listener: %q", got)
	}
	if got := code(w, w.elb.DeleteTrustStore, &elb.DeleteTrustStoreInput{TrustStoreArn: store.TrustStoreArn}); got != "TrustStoreInUse" {
		t.Errorf("a store in use can be deleted: %q", got)
	}
	version = w.put("roots.pem", slices.Concat(ca.bundle(), next.bundle()))
	rotated := must(w, w.elb.ModifyTrustStore, &elb.ModifyTrustStoreInput{TrustStoreArn: store.TrustStoreArn, CaCertificatesBundleS3Bucket: aws.String("trust"),
		CaCertificatesBundleS3Key: aws.String("roots.pem"), CaCertificatesBundleS3ObjectVersion: &version}).TrustStores[0]
	if *rotated.NumberOfCaCertificates != 2 || *rotated.TrustStoreArn != *store.TrustStoreArn {
		t.Errorf("after the rotation it is %+v", rotated)
	}
	link := must(w, w.elb.GetTrustStoreCaCertificatesBundle, &elb.GetTrustStoreCaCertificatesBundleInput{TrustStoreArn: store.TrustStoreArn}).Location
	if got := fetch(t, *link); !bytes.Equal(got, slices.Concat(ca.bundle(), next.bundle())) {
		t.Errorf("the bundle reads %s", got)
	}
	w.clock.Advance(11 * time.Minute)
	if got := fetch(t, *link); bytes.Contains(got, []byte("CERTIFICATE")) {
		t.Error("a link lives on after 10 minutes")
	}
}

func fetch(t *testing.T, link string) []byte {
	t.Helper()
	response, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Revocation lists are counted, numbered and removed; bundles that are none are refused.
func TestRevocations(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	w.bucket()
	ca := w.authority()
	w.put("roots.pem", ca.bundle())
	w.put("none.pem", []byte("nothing"))
	in := func(key string) *elb.CreateTrustStoreInput {
		return &elb.CreateTrustStoreInput{Name: aws.String("mesh"), CaCertificatesBundleS3Bucket: aws.String("trust"), CaCertificatesBundleS3Key: &key}
	}
	if got := code(w, w.elb.CreateTrustStore, in("none.pem")); got != "InvalidCaCertificatesBundle" {
		t.Errorf("no certificates: %q", got)
	}
	if got := code(w, w.elb.CreateTrustStore, in("missing.pem")); got != "CaCertificatesBundleNotFound" {
		t.Errorf("no object: %q", got)
	}
	store := must(w, w.elb.CreateTrustStore, in("roots.pem")).TrustStores[0].TrustStoreArn
	list, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1), NextUpdate: time.Now().Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: big.NewInt(7), RevocationTime: time.Now()}}}, ca.cert, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	w.put("crl", list)
	add := &elb.AddTrustStoreRevocationsInput{TrustStoreArn: store, RevocationContents: []types.RevocationContent{{S3Bucket: aws.String("trust"), S3Key: aws.String("crl")}}}
	first := must(w, w.elb.AddTrustStoreRevocations, add).TrustStoreRevocations[0]
	second := must(w, w.elb.AddTrustStoreRevocations, add).TrustStoreRevocations[0]
	if *first.NumberOfRevokedEntries != 1 || *first.RevocationId == *second.RevocationId {
		t.Errorf("revocations are %+v and %+v", first, second)
	}
	must(w, w.elb.RemoveTrustStoreRevocations, &elb.RemoveTrustStoreRevocationsInput{TrustStoreArn: store, RevocationIds: []int64{*first.RevocationId}})
	left := must(w, w.elb.DescribeTrustStoreRevocations, &elb.DescribeTrustStoreRevocationsInput{TrustStoreArn: store}).TrustStoreRevocations
	if len(left) != 1 || *left[0].RevocationId != *second.RevocationId {
		t.Errorf("left are %+v", left)
	}
}

// Objects have versions, and delete markers that hide them.
func TestObjects(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	w.bucket()
	one, two := w.put("a/b", []byte("one")), w.put("a/b", []byte("two"))
	read := func(version *string) string {
		out, err := w.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("trust"), Key: aws.String("a/b"), VersionId: version})
		if err != nil {
			return codeOf(err)
		}
		body, _ := io.ReadAll(out.Body)
		return string(body)
	}
	if read(nil) != "two" || read(&one) != "one" || read(&two) != "two" {
		t.Errorf("read: %s, %s, %s", read(nil), read(&one), read(&two))
	}
	if _, err := w.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("trust"), Key: aws.String("a/b")}); err != nil || read(nil) != "NoSuchKey" || read(&one) != "one" {
		t.Errorf("after a delete: %v, %s, %s", err, read(nil), read(&one))
	}
	versions, err := w.s3.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String("trust"), Prefix: aws.String("a/")})
	if err != nil || len(versions.Versions) != 2 || len(versions.DeleteMarkers) != 1 || !*versions.DeleteMarkers[0].IsLatest {
		t.Errorf("versions are %+v: %v", versions, err)
	}
	if _, err := w.s3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("trust"), Key: aws.String("a/b")}); codeOf(err) != "NotFound" {
		t.Errorf("head: %v", err)
	}
	for _, v := range []*string{&one, &two, versions.DeleteMarkers[0].VersionId} {
		if _, err := w.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("trust"), Key: aws.String("a/b"), VersionId: v}); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.s3.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: aws.String("trust")}); err != nil || w.Dump() != awsapi.Empty() {
		t.Errorf("%v; left: %s", err, w.Dump())
	}
}
