package acm

import (
	"crypto/x509"
	"slices"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

// status is ISSUED while the certificate is valid.
func (r *row) status(call *account.Call) string {
	if call.Now.After(r.NotAfter) {
		return "EXPIRED"
	}
	return "ISSUED"
}

func (r *row) keyUsages() []string {
	bits := []struct {
		bit  x509.KeyUsage
		name string
	}{{x509.KeyUsageDigitalSignature, "DIGITAL_SIGNATURE"}, {x509.KeyUsageContentCommitment, "NON_REPUDIATION"},
		{x509.KeyUsageKeyEncipherment, "KEY_ENCIPHERMENT"}, {x509.KeyUsageDataEncipherment, "DATA_ENCIPHERMENT"},
		{x509.KeyUsageKeyAgreement, "KEY_AGREEMENT"}, {x509.KeyUsageCertSign, "CERTIFICATE_SIGNING"}, {x509.KeyUsageCRLSign, "CRL_SIGNING"}}
	var out []string
	for _, b := range bits {
		if r.Leaf.KeyUsage&b.bit != 0 {
			out = append(out, b.name)
		}
	}
	return out
}

func (r *row) extended() []extendedUsage {
	known := map[x509.ExtKeyUsage]extendedUsage{
		x509.ExtKeyUsageServerAuth: {"TLS_WEB_SERVER_AUTHENTICATION", "1.3.6.1.5.5.7.3.1"},
		x509.ExtKeyUsageClientAuth: {"TLS_WEB_CLIENT_AUTHENTICATION", "1.3.6.1.5.5.7.3.2"},
		x509.ExtKeyUsageAny:        {"ANY", "2.5.29.37.0"},
	}
	var out []extendedUsage
	for _, u := range r.Leaf.ExtKeyUsage {
		if one, ok := known[u]; ok {
			out = append(out, one)
			continue
		}
		out = append(out, extendedUsage{Name: "CUSTOM"})
	}
	return out
}

func (s *Service) describeCertificate(call *account.Call, in *ofCertificate) (any, error) {
	r, err := s.view(call).find(in.CertificateArn)
	if err != nil {
		return nil, err
	}
	out := detail{CertificateArn: r.ARN, CertificateKeyPairOrigin: "CUSTOMER_PROVIDED", CreatedAt: wire.Epoch{Time: r.Made}, DomainName: r.Names[0],
		ExtendedKeyUsages: r.extended(), ImportedAt: wire.Epoch{Time: r.Imported}, InUseBy: s.InUse(r.ARN), Issuer: r.Leaf.Issuer.String(),
		KeyAlgorithm: keyType(r.Leaf.PublicKey), NotAfter: wire.Epoch{Time: r.NotAfter}, NotBefore: wire.Epoch{Time: r.Leaf.NotBefore},
		Options: &options{CertificateTransparencyLoggingPreference: "DISABLED", Export: "DISABLED"}, RenewalEligibility: "INELIGIBLE", Serial: r.Serial,
		SignatureAlgorithm: r.Leaf.SignatureAlgorithm.String(), Status: r.status(call), Subject: r.Leaf.Subject.String(), SubjectAlternativeNames: r.Names, Type: "IMPORTED"}
	for _, name := range r.keyUsages() {
		out.KeyUsages = append(out.KeyUsages, usage{name})
	}
	if out.InUseBy == nil {
		out.InUseBy = []string{}
	}
	return descOut{out}, nil
}

// passes tells whether a list's filters let a certificate through. Without a filter
// on key types only RSA keys up to 2,048 bits pass, as in ACM.
func (in *listCertificates) passes(call *account.Call, r *row) bool {
	types, usages, extended := []string{"RSA_1024", "RSA_2048"}, []string(nil), []string(nil)
	if in.Includes != nil {
		if len(in.Includes.KeyTypes) > 0 {
			types = in.Includes.KeyTypes
		}
		usages, extended = in.Includes.KeyUsage, in.Includes.ExtendedKeyUsage
	}
	has := r.keyUsages()
	var ext []string
	for _, e := range r.extended() {
		ext = append(ext, e.Name)
	}
	every := func(want, has []string) bool {
		return !slices.ContainsFunc(want, func(w string) bool { return w != "ANY" && !slices.Contains(has, w) })
	}
	return slices.Contains(types, keyType(r.Leaf.PublicKey)) && every(usages, has) && every(extended, ext) &&
		(len(in.CertificateStatuses) == 0 || slices.Contains(in.CertificateStatuses, r.status(call)))
}

func (s *Service) listCertificates(call *account.Call, in *listCertificates) (any, error) {
	rows := s.view(call).Certificates.All(func(r *row) bool { return in.passes(call, r) })
	if in.SortOrder == "DESCENDING" {
		slices.Reverse(rows)
	}
	size := 1000
	if in.MaxItems != nil {
		if size = *in.MaxItems; size < 1 || size > 1000 {
			return nil, bad("1 validation error detected: Value '%d' at 'maxItems' failed to satisfy constraint: Member must have value between 1 and 1000", size)
		}
	}
	page, next, ok := account.Page(rows, in.NextToken, size)
	if !ok {
		return nil, wire.Refuse("InvalidArgsException", "The next token is not valid.")
	}
	out := listOut{CertificateSummaryList: []summary{}, NextToken: next}
	for _, r := range page {
		out.CertificateSummaryList = append(out.CertificateSummaryList, s.summary(call, r))
	}
	return out, nil
}

func (s *Service) summary(call *account.Call, r *row) summary {
	out := summary{CertificateArn: r.ARN, CreatedAt: wire.Epoch{Time: r.Made}, DomainName: r.Names[0], ExportOption: "DISABLED", Exported: new(false),
		HasAdditionalSubjectAlternativeNames: new(false), ImportedAt: wire.Epoch{Time: r.Imported}, InUse: new(len(s.InUse(r.ARN)) > 0),
		KeyAlgorithm: keyType(r.Leaf.PublicKey), KeyUsages: r.keyUsages(), NotAfter: wire.Epoch{Time: r.NotAfter}, NotBefore: wire.Epoch{Time: r.Leaf.NotBefore},
		RenewalEligibility: "INELIGIBLE", Status: r.status(call), SubjectAlternativeNameSummaries: r.Names, Type: "IMPORTED"}
	for _, e := range r.extended() {
		out.ExtendedKeyUsages = append(out.ExtendedKeyUsages, e.Name)
	}
	return out
}
