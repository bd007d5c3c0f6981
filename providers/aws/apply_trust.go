package aws

import (
	"bytes"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"gatehouse.dev/lbmodel"
)

// putBundle writes a bundle of roots. With each that is on its way out is written since
// when.
func (c *change) putBundle(ctx context.Context, want *TrustBundle) (made, error) {
	return c.writeBundle(ctx, want, "")
}

func (c *change) writeBundle(ctx context.Context, want *TrustBundle, note string) (made, error) {
	var text bytes.Buffer
	for _, r := range want.Roots {
		text.WriteString(r.PEM)
	}
	at := bundlePlace{want.Bucket, want.Key}
	c.memory.with(func() { c.memory.buckets[at.location()] = true })
	in := &s3.PutObjectInput{
		Bucket: &at.Bucket, Key: &at.Key, Body: bytes.NewReader(text.Bytes()), ContentType: aws.String("application/x-pem-file"),
		Metadata: map[string]string{metaCluster: c.owner.Cluster},
	}
	for key, value := range map[string]string{metaDropped: droppedText(want.Roots), metaNote: note} {
		if value != "" {
			in.Metadata[key] = value
		}
	}
	out, err := c.calls.s3.PutObject(ctx, in)
	if err != nil {
		return made{}, err
	}
	return made{spec: want, handle: "s3://" + at.Bucket + "/" + at.Key, facts: lbmodel.Facts{Version: aws.ToString(out.VersionId)}}, nil
}

// bundleOf is where the bundle of a store lies, in the version that it is to read.
func (c *change) bundleOf(want *TrustStore) (at bundlePlace, version *string, err error) {
	r, ok := c.resolve(want.Bundle.id())
	b, is := r.Spec.(*TrustBundle)
	if !ok || !is {
		return bundlePlace{}, nil, lbmodel.Errorf(lbmodel.CodeNotFound, "Apply", c.step.ID, "it needs %s, which is not there", want.Bundle)
	}
	if r.Facts.Version != "" {
		version = &r.Facts.Version
	}
	return bundlePlace{b.Bucket, b.Key}, version, nil
}

// makeStore makes a trust store. It is of use once AWS has read the bundle.
func (c *change) makeStore(ctx context.Context, want *TrustStore) (made, error) {
	if r, known := c.resolve(c.step.ID); known && r.Handle != "" {
		return c.awaitStore(ctx, want, string(r.Handle))
	}
	at, version, err := c.bundleOf(want)
	if err != nil {
		return made{}, err
	}
	t := c.tags()
	t.pack(at)
	out, err := c.calls.elb.CreateTrustStore(ctx, &elb.CreateTrustStoreInput{
		Name: &c.step.ID.Name, CaCertificatesBundleS3Bucket: &at.Bucket, CaCertificatesBundleS3Key: &at.Key,
		CaCertificatesBundleS3ObjectVersion: version, Tags: t.elb(),
	})
	if err != nil {
		return made{}, err
	}
	store := &out.TrustStores[0]
	arn := aws.ToString(store.TrustStoreArn)
	c.memory.setTags(arn, t)
	return c.storeMade(want, store)
}

func (c *change) storeMade(want *TrustStore, store *types.TrustStore) (made, error) {
	m := made{spec: want, handle: aws.ToString(store.TrustStoreArn)}
	if store.Status != types.TrustStoreStatusActive {
		return m, c.pending(soon, "AWS is reading the certificates of the trust store")
	}
	return m, nil
}

// awaitStore looks at a trust store that is being made.
func (c *change) awaitStore(ctx context.Context, want *TrustStore, arn string) (made, error) {
	out, err := c.calls.elb.DescribeTrustStores(ctx, &elb.DescribeTrustStoresInput{TrustStoreArns: []string{arn}})
	if err != nil {
		return made{}, err
	}
	return c.storeMade(want, &out.TrustStores[0])
}

// changeStore makes a trust store read its bundle again. Its ARN stays.
func (c *change) changeStore(ctx context.Context, want, _ *TrustStore) (made, error) {
	at, version, err := c.bundleOf(want)
	if err != nil {
		return made{}, err
	}
	arn := c.there()
	_, err = c.calls.elb.ModifyTrustStore(ctx, &elb.ModifyTrustStoreInput{
		TrustStoreArn: &arn, CaCertificatesBundleS3Bucket: &at.Bucket, CaCertificatesBundleS3Key: &at.Key, CaCertificatesBundleS3ObjectVersion: version,
	})
	if err != nil {
		return made{}, err
	}
	from, _ := c.memory.tagsOf(arn)
	t := c.tags()
	t.pack(at)
	return made{spec: want}, c.retag(ctx, arn, packedOnly(from), packedOnly(t))
}

// packedOnly are the tags that hold a packed value.
func packedOnly(t tags) tags {
	out := tags{}
	for key, value := range t {
		if isPacked(key) {
			out[key] = value
		}
	}
	return out
}
