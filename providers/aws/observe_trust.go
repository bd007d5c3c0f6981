package aws

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"gatehouse.dev/lbmodel"
)

// What a bundle's object says of itself beside its certificates.
const (
	metaCluster = "gatehouse-cluster"
	metaDropped = "gatehouse-dropped" // since when roots are not published any more, by fingerprint
	metaNote    = "gatehouse-unwanted"
)

// bundlePlace is where a bundle is. A trust store has it in its tags.
type bundlePlace struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
}

// bundleID is the bundle that lies at a key.
func (p *Provider) bundleID(key string) lbmodel.ID {
	name := strings.TrimSuffix(key[strings.LastIndexByte(key, '/')+1:], bundleSuffix)
	return lbmodel.ID{Kind: KindTrustBundle, Location: p.calls.region, Name: name}
}

const bundleSuffix = ".pem"

// readTrust reads our trust stores, and the bundles that they read and that lie where
// bundles were put.
func (o *observer) readTrust(ctx context.Context) error {
	places := map[bundlePlace]bool{}
	var ours []types.TrustStore
	for _, s := range o.stores {
		arn := aws.ToString(s.TrustStoreArn)
		if _, is := o.id(arn); !is {
			continue
		}
		ours = append(ours, s)
		t, _ := o.memory.tagsOf(arn)
		var at bundlePlace
		if t.unpack(&at) {
			places[at] = true
			o.memory.with(func() { o.memory.buckets[at.location()] = true })
		}
	}
	var buckets map[location]bool
	o.memory.with(func() { buckets = maps.Clone(o.memory.buckets) })
	for at := range buckets {
		if err := o.listBundles(ctx, at, places); err != nil {
			return err
		}
	}
	if err := each(ctx, slices.Collect(maps.Keys(places)), o.readBundle); err != nil {
		return err
	}
	return each(ctx, ours, o.readStore)
}

// location is the folder of a place.
func (p bundlePlace) location() location {
	return location{bucket: p.Bucket, prefix: p.Key[:strings.LastIndexByte(p.Key, '/')+1]}
}

// listBundles finds what looks like bundles. A bucket that must not be listed is of no
// other class's concern: of what its trust stores read, their tags tell.
func (o *observer) listBundles(ctx context.Context, at location, places map[bundlePlace]bool) error {
	pages := s3.NewListObjectsV2Paginator(o.calls.s3, &s3.ListObjectsV2Input{Bucket: &at.bucket, Prefix: &at.prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if codeOf(err) == lbmodel.CodeDenied {
			return nil
		}
		if err != nil {
			return exceptGone(err)
		}
		for _, object := range page.Contents {
			key := aws.ToString(object.Key)
			if strings.HasSuffix(key, bundleSuffix) && ourName.MatchString(o.bundleID(key).Name) {
				places[bundlePlace{at.bucket, key}] = true
			}
		}
	}
	return nil
}

const mostBundle = 1 << 20 // bytes: 25 roots of at most 16 KB

func (o *observer) readBundle(ctx context.Context, at bundlePlace) error {
	out, err := o.calls.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &at.Bucket, Key: &at.Key})
	if err != nil {
		return exceptGone(err)
	}
	text, err := io.ReadAll(io.LimitReader(out.Body, mostBundle))
	_ = out.Body.Close() // it was read, or the error says why not
	if err != nil {
		return err
	}
	if out.Metadata[metaCluster] != o.owner.Cluster {
		return nil
	}
	id := o.bundleID(at.Key)
	spec := &TrustBundle{Bucket: at.Bucket, Key: at.Key, Roots: rootsOf(text, out.Metadata[metaDropped])}
	t := tags{tagCluster: o.owner.Cluster, tagID: id.Name, tagDropped: out.Metadata[metaNote]}
	o.show(id, spec, lbmodel.Handle("s3://"+at.Bucket+"/"+at.Key), t, lbmodel.Facts{Version: aws.ToString(out.VersionId)})
	return nil
}

// rootsOf are the roots of a bundle, and since when each is not published any more.
// What cannot be read holds none, so that it is written anew.
func rootsOf(text []byte, dropped string) []lbmodel.Root {
	roots, err := lbmodel.ParseRoots(text)
	if err != nil {
		return nil
	}
	since := map[string]int64{}
	_ = json.Unmarshal([]byte(dropped), &since) // what cannot be read is no record: the wait begins anew
	for i, r := range roots {
		if at := since[r.SHA256[:droppedKey]]; at != 0 {
			roots[i].Dropped = time.Unix(at, 0).UTC()
		}
	}
	return roots
}

// droppedKey is how much of a fingerprint tells roots of a bundle apart: 64 bits. An
// object has room for 2 KB of such notes, and a bundle has 25 roots.
const droppedKey = 16

// droppedText is that record.
func droppedText(roots []lbmodel.Root) string {
	since := map[string]int64{}
	for _, r := range roots {
		if !r.Dropped.IsZero() {
			since[r.SHA256[:droppedKey]] = r.Dropped.Unix()
		}
	}
	if len(since) == 0 {
		return ""
	}
	return encode(since)
}

func (o *observer) readStore(ctx context.Context, s types.TrustStore) error {
	arn := aws.ToString(s.TrustStoreArn)
	t, _ := o.memory.tagsOf(arn)
	id, _ := o.id(arn)
	var at bundlePlace
	t.unpack(&at)
	spec := &TrustStore{Bundle: refTo(o.bundleID(at.Key))}
	roots, err := o.storeRoots(ctx, arn)
	if err != nil {
		return exceptGone(err)
	}
	spec.Roots = roots
	o.show(id, spec, lbmodel.Handle(arn), t, lbmodel.Facts{})
	return nil
}

// storeRoots are the fingerprints of what a trust store verifies by: the truth, and
// not what it was once told to read.
func (p *Provider) storeRoots(ctx context.Context, arn string) ([]string, error) {
	out, err := p.calls.elb.GetTrustStoreCaCertificatesBundle(ctx, &elb.GetTrustStoreCaCertificatesBundleInput{TrustStoreArn: &arn})
	if err != nil {
		return nil, err
	}
	text, err := p.download(ctx, aws.ToString(out.Location))
	if err != nil {
		return nil, err
	}
	var fingerprints []string
	for _, r := range rootsOf(text, "") {
		fingerprints = append(fingerprints, r.SHA256)
	}
	return fingerprints, nil
}

// download reads what a link leads to that AWS has signed.
func (p *Provider) download(ctx context.Context, link string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return nil, err
	}
	reply, err := p.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, lbmodel.Errorf(lbmodel.CodeUnavailable, "GetTrustStoreCaCertificatesBundle", noID, "the link to the certificates answers %s", reply.Status)
	}
	var text bytes.Buffer
	_, err = io.Copy(&text, io.LimitReader(reply.Body, mostBundle))
	return text.Bytes(), err
}
