package elb

import (
	"crypto/x509"
	"encoding/pem"
	"regexp"
	"slices"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

func (s *state) trustStore(arn string) (*trustRow, error) {
	if arn == "" {
		return nil, missing("trustStoreArn")
	}
	if row := s.TrustStores.Get(arn); row != nil {
		return row, nil
	}
	if !strings.Contains(arn, ":truststore/") {
		return nil, invalid("'%s' is not a valid trust store ARN", arn)
	}
	return nil, refuse("TrustStoreNotFound", "Trust store '%s' not found", arn)
}

// shape is the trust store as it is described.
func (r *trustRow) shape(s *Service) trustStore {
	out := r.trustStore
	out.Status = "ACTIVE"
	if s.clock(r.Ready) {
		out.Status = "CREATING"
	}
	revoked := 0
	for _, v := range r.Revocations {
		revoked += *v.NumberOfRevokedEntries
	}
	out.TotalRevokedEntries = &revoked
	return out
}

// roots reads a bundle, and counts its certificates.
func (s *Service) roots(in bundle) ([]byte, int, error) {
	switch "" {
	case in.CaCertificatesBundleS3Bucket:
		return nil, 0, missing("caCertificatesBundleS3Bucket")
	case in.CaCertificatesBundleS3Key:
		return nil, 0, missing("caCertificatesBundleS3Key")
	}
	content, ok := s.Object(in.CaCertificatesBundleS3Bucket, in.CaCertificatesBundleS3Key, in.CaCertificatesBundleS3ObjectVersion)
	if !ok {
		return nil, 0, refuse("CaCertificatesBundleNotFound", "The specified CA certificates bundle does not exist")
	}
	n, rest := 0, content
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		switch {
		case block.Type != "CERTIFICATE" || err != nil:
			return nil, 0, refuse("InvalidCaCertificatesBundle", "The CA certificates bundle contains a block that is not a certificate")
		case len(block.Bytes) > 16<<10:
			return nil, 0, refuse("InvalidCaCertificatesBundle", "A certificate in the CA certificates bundle is larger than 16 KB")
		case ca.Version == 3 && !ca.IsCA:
			return nil, 0, refuse("InvalidCaCertificatesBundle", "A certificate in the CA certificates bundle is not a CA certificate")
		}
		n++
	}
	switch {
	case n == 0 || strings.TrimSpace(string(rest)) != "":
		return nil, 0, refuse("InvalidCaCertificatesBundle", "The CA certificates bundle is empty, or not in PEM format")
	case n > s.limit(limitCAs):
		return nil, 0, refuse("InvalidCaCertificatesBundle", "The CA certificates bundle cannot have more than '%d' certificates", s.limit(limitCAs))
	}
	return content, n, nil
}

var trustName = regexp.MustCompile(`^([a-zA-Z0-9]+-)*[a-zA-Z0-9]+$`)

func (s *Service) createTrustStore(call *account.Call, in *createTrustStore) (any, error) {
	tags, err := s.newTags(in.Tags)
	switch {
	case err != nil:
		return nil, err
	case in.Name == "":
		return nil, missing("name")
	case len(in.Name) > 32 || !trustName.MatchString(in.Name):
		return nil, breaks(in.Name, "name", "have length less than or equal to 32, and satisfy regular expression pattern: ^([a-zA-Z0-9]+-)*[a-zA-Z0-9]+$")
	}
	var out trustStore
	err = s.change(call, func(now *state) error {
		if same := now.TrustStores.All(func(r *trustRow) bool { return r.Name == in.Name }); len(same) > 0 {
			return refuse("DuplicateTrustStoreName", "A trust store with the name '%s' already exists", in.Name)
		}
		if err := s.full(limitStores, now.TrustStores.Len(), "TooManyTrustStores", "The maximum number of trust stores has been reached"); err != nil {
			return err
		}
		content, n, err := s.roots(in.bundle)
		if err != nil {
			return err
		}
		row := trustRow{Source: in.bundle, Bundle: content, Tags: tags, Ready: call.Now.Add(s.Times.TrustStore), Next: 1,
			trustStore: trustStore{Name: in.Name, NumberOfCaCertificates: &n, TrustStoreArn: s.Home.ARN(service, "truststore/"+in.Name+"/"+s.IDs.Hex(16))}}
		out = now.TrustStores.Put(row.TrustStoreArn, row).shape(s)
		return nil
	})
	return trustStoresOut{TrustStores: []trustStore{out}}, err
}

// editTrust replaces a trust store that is ready.
func (s *Service) editTrust(call *account.Call, arn string, do func(*trustRow) error) error {
	return s.change(call, func(now *state) error {
		old, err := now.trustStore(arn)
		switch {
		case err != nil:
			return err
		case s.clock(old.Ready):
			return refuse("TrustStoreNotReady", "Trust store '%s' is not ready", arn)
		}
		next := *old
		if err := do(&next); err != nil {
			return err
		}
		now.TrustStores.Put(arn, next)
		return nil
	})
}

func (s *Service) modifyTrustStore(call *account.Call, in *modifyTrustStore) (any, error) {
	var out trustStore
	err := s.editTrust(call, in.TrustStoreArn, func(r *trustRow) error {
		content, n, err := s.roots(in.bundle)
		if err != nil {
			return err
		}
		r.Source, r.Bundle, r.NumberOfCaCertificates = in.bundle, content, &n
		out = r.shape(s)
		return nil
	})
	return trustStoresOut{TrustStores: []trustStore{out}}, err
}

func (s *Service) describeTrustStores(call *account.Call, in *describeTrustStores) (any, error) {
	now := s.view(call)
	if len(in.Names) > 0 && len(in.TrustStoreArns) > 0 {
		return nil, invalid("Trust store names and trust store ARNs cannot be specified at the same time")
	}
	for _, arn := range in.TrustStoreArns {
		if _, err := now.trustStore(arn); err != nil {
			return nil, err
		}
	}
	found := now.TrustStores.All(func(r *trustRow) bool { return wanted(in.Names, r.Name) && wanted(in.TrustStoreArns, r.TrustStoreArn) })
	if len(found) < len(in.Names) {
		return nil, refuse("TrustStoreNotFound", "One or more trust stores not found")
	}
	rows, next, err := page(found, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := trustStoresOut{NextMarker: next, TrustStores: []trustStore{}}
	for _, r := range rows {
		out.TrustStores = append(out.TrustStores, r.shape(s))
	}
	return out, nil
}

// associations are the listeners that verify with a trust store.
func (s *state) associations(store string) []association {
	out := []association{}
	for _, l := range s.Listeners.All(nil) {
		if l.MutualAuthentication != nil && l.MutualAuthentication.TrustStoreArn == store {
			out = append(out, association{l.ListenerArn})
		}
	}
	return out
}

func (s *Service) describeTrustStoreAssociations(call *account.Call, in *describeTrustStoreAssociations) (any, error) {
	now := s.view(call)
	if _, err := now.trustStore(in.TrustStoreArn); err != nil {
		return nil, err
	}
	out, next, err := page(now.associations(in.TrustStoreArn), in.Marker, in.PageSize)
	return associationsOut{next, out}, err
}

func (s *Service) deleteTrustStore(call *account.Call, in *ofTrustStore) (any, error) {
	return nothing{}, s.change(call, func(now *state) error {
		if _, err := now.trustStore(in.TrustStoreArn); err != nil {
			return err
		}
		if len(now.associations(in.TrustStoreArn)) > 0 {
			return refuse("TrustStoreInUse", "Trust store '%s' is currently in use by a listener", in.TrustStoreArn)
		}
		now.TrustStores.Delete(in.TrustStoreArn)
		return nil
	})
}

// deleteSharedTrustStoreAssociation is for trust stores of other accounts, of which
// there are none.
func (s *Service) deleteSharedTrustStoreAssociation(call *account.Call, in *ofSharedAssociation) (any, error) {
	now := s.view(call)
	if _, err := now.trustStore(in.TrustStoreArn); err != nil {
		return nil, err
	}
	if !slices.Contains(now.associations(in.TrustStoreArn), association{in.ResourceArn}) {
		return nil, refuse("AssociationNotFound", "The association of '%s' with trust store '%s' is not found", in.ResourceArn, in.TrustStoreArn)
	}
	return nil, refuse("DeleteAssociationSameAccount", "The association with a trust store of the same account cannot be deleted: modify the listener")
}

func (s *Service) getResourcePolicy(call *account.Call, in *ofResource) (any, error) {
	if _, _, err := s.view(call).tagsOf(in.ResourceArn); err != nil {
		return nil, refuse("ResourceNotFound", "Resource '%s' not found", in.ResourceArn)
	}
	return policyOut{}, nil // nothing is shared
}
