package aws

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"gatehouse.dev/lbmodel"
)

// imported is what is remembered of a certificate since its last import.
type imported struct {
	at   time.Time
	leaf *lbmodel.Leaf
}

// indexLag is how long the index of tags may take to know of a certificate: of younger
// ones each is asked for its tags, of older ones the index, in one call for a hundred.
const indexLag = time.Hour

// listCertificates shows our certificates.
func (o *observer) listCertificates(ctx context.Context) error {
	all, err := o.importedCertificates(ctx)
	if err != nil {
		return err
	}
	if err := o.askCertificateTags(ctx, all); err != nil {
		return err
	}
	var ours []acmtypes.CertificateSummary
	seen := map[string]bool{}
	for _, c := range all {
		arn := aws.ToString(c.CertificateArn)
		t, _ := o.memory.tagsOf(arn)
		if !o.isOurs(t) {
			continue
		}
		id := lbmodel.ID{Kind: KindCertificate, Location: o.calls.region, Name: t[tagID]}
		if seen[id.Name] {
			id = twin(id, arn)
		}
		seen[id.Name] = true
		o.learn(arn, id)
		if o.concerns(t) {
			ours = append(ours, c)
		}
	}
	return each(ctx, ours, o.readCertificate)
}

// importedCertificates are those that were imported, first the ones in use, then the
// older ones: of two of one name the first one counts.
func (o *observer) importedCertificates(ctx context.Context) ([]acmtypes.CertificateSummary, error) {
	var out []acmtypes.CertificateSummary
	pages := acm.NewListCertificatesPaginator(o.calls.acm, &acm.ListCertificatesInput{
		MaxItems: aws.Int32(1000), Includes: &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()}, // unasked, ACM shows RSA of 2,048 bits only
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range page.CertificateSummaryList {
			if c.Type == acmtypes.CertificateTypeImported {
				out = append(out, c)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b acmtypes.CertificateSummary) int {
		if used := aws.ToBool(a.InUse); used != aws.ToBool(b.InUse) {
			if used {
				return -1
			}
			return 1
		}
		return aws.ToTime(a.CreatedAt).Compare(aws.ToTime(b.CreatedAt))
	})
	return out, nil
}

// askCertificateTags makes sure that the tags of certificates are remembered.
func (o *observer) askCertificateTags(ctx context.Context, all []acmtypes.CertificateSummary) error {
	var young, old []string
	for _, c := range all {
		arn := aws.ToString(c.CertificateArn)
		if _, known := o.memory.tagsOf(arn); known {
			continue
		}
		if o.now().Sub(aws.ToTime(c.CreatedAt)) < indexLag {
			young = append(young, arn)
		} else {
			old = append(old, arn)
		}
	}
	if len(old) > 0 {
		if err := o.askIndex(ctx, old); err != nil {
			return err
		}
	}
	return each(ctx, young, o.askCertificate)
}

func (o *observer) askCertificate(ctx context.Context, arn string) error {
	out, err := o.calls.acm.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: &arn})
	if err != nil {
		return exceptGone(err)
	}
	t := tags{}
	for _, one := range out.Tags {
		t[aws.ToString(one.Key)] = aws.ToString(one.Value)
	}
	o.memory.setTags(arn, t)
	return nil
}

// askIndex asks the index of tags which certificates are the cluster's. The others are
// somebody else's.
func (o *observer) askIndex(ctx context.Context, arns []string) error {
	found := map[string]tags{}
	if err := o.indexed(ctx, []string{"acm:certificate"}, func(arn string, t tags) { found[arn] = t }); err != nil {
		return err
	}
	for _, arn := range arns {
		o.memory.setTags(arn, found[arn])
	}
	return nil
}

// readCertificate reads which leaf is there, unless that is remembered.
func (o *observer) readCertificate(ctx context.Context, c acmtypes.CertificateSummary) error {
	arn, at := aws.ToString(c.CertificateArn), aws.ToTime(c.ImportedAt)
	var known imported
	o.memory.with(func() { known = o.memory.leaves[arn] })
	if known.leaf == nil || !known.at.Equal(at) {
		out, err := o.calls.acm.GetCertificate(ctx, &acm.GetCertificateInput{CertificateArn: &arn})
		if err != nil {
			return exceptGone(err)
		}
		leaf, err := readLeaf(aws.ToString(out.Certificate), aws.ToString(out.CertificateChain))
		if err != nil {
			return err
		}
		known = imported{at, leaf}
		o.memory.with(func() { o.memory.leaves[arn] = known })
	}
	t, _ := o.memory.tagsOf(arn)
	id, _ := o.id(arn)
	o.show(id, specCertificate(t, known.leaf), lbmodel.Handle(arn), t, lbmodel.Facts{Leaf: known.leaf})
	return nil
}

// specCertificate is a certificate of which ACM has the leaf and the tags the rest.
func specCertificate(t tags, leaf *lbmodel.Leaf) *Certificate {
	out := &Certificate{Leaf: leaf.SHA256}
	t.unpack(&out.Identity)
	return out
}

// readLeaf reads a certificate and its chain, as PEM.
func readLeaf(certificate, chain string) (*lbmodel.Leaf, error) {
	var all []*x509.Certificate
	rest := []byte(strings.TrimSpace(certificate) + "\n" + chain)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, lbmodel.Errorf(lbmodel.CodeInternal, "GetCertificate", noID, "ACM holds a certificate that cannot be read: %w", err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, lbmodel.Errorf(lbmodel.CodeInternal, "GetCertificate", noID, "ACM shows no certificate")
	}
	leaf := lbmodel.LeafOf(all)
	return &leaf, nil
}
