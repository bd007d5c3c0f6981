package elb

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

// Downloads is the path below which links to bundles and revocation lists lead.
const Downloads = "/elasticloadbalancing-trust-stores/"

// entries counts what a revocation list revokes.
func entries(content []byte) (int, bool) {
	if block, _ := pem.Decode(content); block != nil {
		content = block.Bytes
	}
	list, err := x509.ParseRevocationList(content)
	if err != nil {
		return 0, false
	}
	return len(list.RevokedCertificateEntries), true
}

func (s *Service) addTrustStoreRevocations(call *account.Call, in *addRevocations) (any, error) {
	var out revocationsOut
	err := s.editTrust(call, in.TrustStoreArn, func(r *trustRow) error {
		r.Revocations = slices.Clone(r.Revocations)
		for _, c := range in.RevocationContents {
			content, ok := s.Object(c.S3Bucket, c.S3Key, c.S3ObjectVersion)
			if !ok {
				return refuse("RevocationContentNotFound", "The specified revocation file does not exist")
			}
			n, ok := entries(content)
			if !ok {
				return refuse("InvalidRevocationContent", "The provided revocation file is an invalid format, or uses an incorrect algorithm")
			}
			kind := c.RevocationType
			if kind == "" {
				kind = "CRL"
			}
			row := revocationRow{Content: content, revocation: revocation{&n, r.Next, kind, in.TrustStoreArn}}
			r.Next++
			r.Revocations = append(r.Revocations, row)
			out.TrustStoreRevocations = append(out.TrustStoreRevocations, row.revocation)
		}
		total := *r.shape(s).TotalRevokedEntries
		if len(r.Revocations) > s.limit(limitRevocationLists) || total > s.limit(limitRevocations) {
			return refuse("TooManyTrustStoreRevocationEntries", "The maximum number of revocation entries has been reached for trust store '%s'", in.TrustStoreArn)
		}
		return nil
	})
	return out, err
}

func (r *trustRow) revocation(id int) (*revocationRow, error) {
	at := slices.IndexFunc(r.Revocations, func(v revocationRow) bool { return v.RevocationId == id })
	if at < 0 {
		return nil, refuse("RevocationIdNotFound", "Revocation ID '%d' not found", id)
	}
	return &r.Revocations[at], nil
}

func (s *Service) removeTrustStoreRevocations(call *account.Call, in *removeRevocations) (any, error) {
	return nothing{}, s.editTrust(call, in.TrustStoreArn, func(r *trustRow) error {
		for _, id := range in.RevocationIds {
			if _, err := r.revocation(id); err != nil {
				return err
			}
			r.Revocations = slices.DeleteFunc(slices.Clone(r.Revocations), func(v revocationRow) bool { return v.RevocationId == id })
		}
		return nil
	})
}

func (s *Service) describeTrustStoreRevocations(call *account.Call, in *describeRevocations) (any, error) {
	row, err := s.view(call).trustStore(in.TrustStoreArn)
	if err != nil {
		return nil, err
	}
	var all []revocation
	for _, v := range row.Revocations {
		if len(in.RevocationIds) == 0 || slices.Contains(in.RevocationIds, v.RevocationId) {
			all = append(all, v.revocation)
		}
	}
	for _, id := range in.RevocationIds {
		if _, err := row.revocation(id); err != nil {
			return nil, err
		}
	}
	out, next, err := page(all, in.Marker, in.PageSize)
	return revocationsOut{next, out}, err
}

func (s *Service) link(call *account.Call, arn, file string) locationOut {
	path := Downloads + strings.TrimPrefix(arn, s.Home.ARN(service, "truststore/")) + "/" + file
	return locationOut{account.Presigned(call, path, url.Values{})}
}

func (s *Service) getTrustStoreCaCertificatesBundle(call *account.Call, in *ofTrustStore) (any, error) {
	if _, err := s.view(call).trustStore(in.TrustStoreArn); err != nil {
		return nil, err
	}
	return s.link(call, in.TrustStoreArn, "bundle"), nil
}

func (s *Service) getTrustStoreRevocationContent(call *account.Call, in *ofRevocation) (any, error) {
	row, err := s.view(call).trustStore(in.TrustStoreArn)
	if err != nil {
		return nil, err
	}
	id := deref(in.RevocationId, 0)
	if _, err := row.revocation(id); err != nil {
		return nil, err
	}
	return s.link(call, in.TrustStoreArn, strconv.Itoa(id)), nil
}

// Download is what a link's path leads to.
func (s *Service) Download(path string) ([]byte, bool) {
	rest := strings.TrimPrefix(path, Downloads)
	at := strings.LastIndex(rest, "/")
	if at < 0 {
		return nil, false
	}
	now := s.past.Now()
	row := now.TrustStores.Get(s.Home.ARN(service, "truststore/"+rest[:at]))
	if row == nil {
		return nil, false
	}
	if rest[at+1:] == "bundle" {
		return bytes.Clone(row.Bundle), true
	}
	id, _ := strconv.Atoi(rest[at+1:])
	v, err := row.revocation(id)
	if err != nil {
		return nil, false
	}
	return bytes.Clone(v.Content), true
}
