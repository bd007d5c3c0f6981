package aws

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"gatehouse.dev/lbmodel"
)

// certificateTags are all that a certificate gets.
func (c *Certificate) certificateTags(ours tags) tags {
	ours.pack(c.Identity)
	return ours
}

func (t tags) acm() []acmtypes.Tag {
	out := make([]acmtypes.Tag, 0, len(t))
	for _, key := range sortedKeys(t) {
		out = append(out, acmtypes.Tag{Key: &key, Value: aws.String(t[key])})
	}
	return out
}

// importCertificate brings a leaf and its key to ACM: under a new ARN, or over the
// leaf that is there. ACM takes no tags with the latter.
func (c *change) importCertificate(ctx context.Context, want *Certificate) (made, error) {
	if m, done, err := c.sameLeaf(ctx, want); done {
		return m, err
	}
	pair, leaf, err := c.key(ctx, want)
	if err != nil {
		return made{}, err
	}
	in, err := sdkCertificate(pair)
	if err != nil {
		return made{}, lbmodel.Errorf(lbmodel.CodeInvalid, "Apply", c.step.ID, "identity %s: %w", want.Identity.Name, err)
	}
	t := want.certificateTags(c.tags())
	if arn := c.there(); arn != "" {
		in.CertificateArn = &arn
	} else {
		in.Tags = t.acm()
	}
	out, err := c.calls.acm.ImportCertificate(ctx, in)
	if err != nil {
		return made{}, err
	}
	spec := *want
	spec.Leaf = leaf.SHA256
	m := made{spec: &spec, handle: aws.ToString(out.CertificateArn), facts: lbmodel.Facts{Leaf: leaf}}
	if c.there() == "" {
		c.memory.setTags(m.handle, t)
		return m, nil
	}
	return m, c.retagCertificate(ctx, m.handle, t)
}

// sameLeaf is an update of something else than the leaf: of what is kept in tags. A
// leaf that was to be issued is there when it is another one than the plan had.
func (c *change) sameLeaf(ctx context.Context, want *Certificate) (m made, done bool, err error) {
	have, ok := c.step.Have.Spec.(*Certificate)
	if !ok || have.Leaf != want.Leaf {
		return made{}, false, nil
	}
	m = made{spec: want, handle: c.there(), facts: c.step.Have.Facts}
	return m, true, c.retagCertificate(ctx, m.handle, want.certificateTags(c.tags()))
}

// retagCertificate makes the tags of a certificate say what it is for now.
func (c *change) retagCertificate(ctx context.Context, arn string, to tags) error {
	from, _ := c.memory.tagsOf(arn)
	ours := maps.Clone(from)
	maps.DeleteFunc(ours, func(key, _ string) bool { return !isPacked(key) && to[key] == "" })
	set, remove := ours.change(to)
	if len(set) > 0 {
		if _, err := c.calls.acm.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{CertificateArn: &arn, Tags: set.acm()}); err != nil {
			return err
		}
	}
	if len(remove) > 0 {
		old := tags{}
		for _, key := range remove {
			old[key] = from[key]
		}
		if _, err := c.calls.acm.RemoveTagsFromCertificate(ctx, &acm.RemoveTagsFromCertificateInput{CertificateArn: &arn, Tags: old.acm()}); err != nil {
			return err
		}
	}
	c.memory.retag(arn, set, remove)
	return nil
}

// key is the key of the wanted leaf, or of one that is issued now.
func (c *change) key(ctx context.Context, want *Certificate) (tls.Certificate, *lbmodel.Leaf, error) {
	identity := want.wanted()
	if want.Leaf != lbmodel.KnownAfterApply {
		identity.Leaf = &lbmodel.Leaf{SHA256: want.Leaf}
	}
	return c.keys.Pair(ctx, c.step.ID, identity)
}

// sdkCertificate is a certificate with its key as ACM takes it: PEM, the chain apart
// and without the leaf.
func sdkCertificate(pair tls.Certificate) (*acm.ImportCertificateInput, error) {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, err
	}
	out := &acm.ImportCertificateInput{PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})}
	var chain bytes.Buffer
	for i, der := range pair.Certificate {
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		if i == 0 {
			out.Certificate = text
		} else {
			chain.Write(text)
		}
	}
	if chain.Len() > 0 {
		out.CertificateChain = chain.Bytes()
	}
	return out, nil
}
