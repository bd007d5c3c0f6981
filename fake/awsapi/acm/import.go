package acm

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

func bad(format string, args ...any) error {
	return wire.Refuse("ValidationException", format, args...)
}

func (s *Service) importCertificate(call *account.Call, in *importCertificate) (any, error) {
	next, err := s.read(call.Now, in)
	if err != nil {
		return nil, err
	}
	year := call.Now.AddDate(0, 0, -365)
	s.imports = slices.DeleteFunc(s.imports, func(at time.Time) bool { return at.Before(year) })
	if len(s.imports) >= s.Imports {
		return nil, wire.Refuse("LimitExceededException", "Error: you have reached your limit of %d certificate imports in the last year.", s.Imports)
	}
	err = s.change(call, func(now *state) error {
		if in.CertificateArn != "" {
			return replace(now, in, &next)
		}
		if now.Certificates.Len() >= s.Certificates {
			return wire.Refuse("LimitExceededException", "Error: you have reached your limit of %d certificates.", s.Certificates)
		}
		next.ARN, next.Made, next.Tags = s.Home.ARN("acm", "certificate/"+s.IDs.UUID()), call.Now, map[string]string{}
		for _, t := range in.Tags {
			if t.Key == "" || len(t.Key) > 128 || len(t.Value) > 256 || strings.HasPrefix(t.Key, "aws:") {
				return wire.Refuse("InvalidTagException", "The tag '%s' is not valid.", t.Key)
			}
			next.Tags[t.Key] = t.Value
		}
		if len(next.Tags) > 50 {
			return wire.Refuse("TooManyTagsException", "A certificate can have at most 50 tags.")
		}
		now.Certificates.Put(next.ARN, next)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.imports = append(s.imports, call.Now)
	return arnOut{next.ARN}, nil
}

// replace puts a certificate in the place of another, under its ARN.
func replace(now *state, in *importCertificate, next *row) error {
	old, err := now.find(in.CertificateArn)
	if err != nil {
		return err
	}
	if len(in.Tags) > 0 {
		return bad("Tagging is not permitted on re-import.")
	}
	if !slices.ContainsFunc(next.Names, func(name string) bool { return slices.Contains(old.Names, name) }) {
		return bad("The certificate must keep at least one domain name of the certificate that it replaces.")
	}
	had, has := old.Leaf.KeyUsage, next.Leaf.KeyUsage
	switch {
	case had == 0 && has != 0 || had&^has != 0:
		return bad("The certificate's key usage values do not match those of the certificate that it replaces.")
	case len(old.Leaf.ExtKeyUsage) == 0 && len(next.Leaf.ExtKeyUsage) != 0:
		return bad("The certificate's extended key usage values do not match those of the certificate that it replaces.")
	}
	for _, usage := range old.Leaf.ExtKeyUsage {
		// ClientAuth alone may go.
		if usage != x509.ExtKeyUsageClientAuth && !slices.Contains(next.Leaf.ExtKeyUsage, usage) {
			return bad("The certificate's extended key usage values do not match those of the certificate that it replaces.")
		}
	}
	next.ARN, next.Made, next.Tags = old.ARN, old.Made, old.Tags
	now.Certificates.Put(old.ARN, *next)
	return nil
}

// read checks what is imported.
func (s *Service) read(now time.Time, in *importCertificate) (row, error) {
	var none row
	switch {
	case len(in.Certificate) == 0:
		return none, bad("1 validation error detected: Value null at 'certificate' failed to satisfy constraint: Member must not be null")
	case len(in.PrivateKey) == 0:
		return none, bad("1 validation error detected: Value null at 'privateKey' failed to satisfy constraint: Member must not be null")
	case len(in.PrivateKey) > 5<<10:
		return none, bad("The private key is larger than 5 KB.")
	case bytes.Contains(in.PrivateKey, []byte("ENCRYPTED")):
		return none, bad("The private key is encrypted.")
	case bytes.Count(in.Certificate, []byte("BEGIN CERTIFICATE")) != 1:
		return none, bad("The certificate field contains more than one certificate. You must specify only one certificate in this field.")
	}
	pair, err := tls.X509KeyPair(slices.Concat(in.Certificate, []byte("\n"), in.CertificateChain), in.PrivateKey)
	if err != nil { // the error is not told: it might quote
		return none, bad("The certificate and the private key could not be read, or do not match.")
	}
	leaf := pair.Leaf
	out := row{PEM: string(in.Certificate), Chain: string(in.CertificateChain), Pair: pair, Leaf: leaf, NotAfter: leaf.NotAfter.UTC(), Imported: now,
		Names: names(leaf), Serial: serial(leaf)}
	switch {
	case len(out.Names) == 0:
		return none, bad("The certificate has no domain name and no IP address: it must have a fully qualified domain name or an IP address.")
	case now.Before(leaf.NotBefore):
		return none, bad("The certificate is not valid until %s.", leaf.NotBefore.UTC().Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return none, bad("The certificate has expired.")
	case keyType(leaf.PublicKey) == "":
		return none, bad("The certificate's key algorithm is not supported.")
	}
	return out, checkChain(leaf, in.CertificateChain)
}

func names(leaf *x509.Certificate) []string {
	out := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		out = append(out, ip.String())
	}
	if cn := leaf.Subject.CommonName; strings.Contains(cn, ".") && !slices.Contains(out, cn) {
		out = append([]string{cn}, out...)
	}
	return out
}

func checkChain(leaf *x509.Certificate, chain []byte) error {
	child := leaf
	for len(chain) > 0 {
		var block *pem.Block
		if block, chain = pem.Decode(chain); block == nil {
			break
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return bad("The certificate chain could not be read.")
		case ca.Equal(leaf):
			return bad("The certificate chain must not contain the certificate itself.")
		case child == leaf && family(ca.PublicKey) != family(leaf.PublicKey):
			return bad("The key type of the certificate must be that of the certificate authority that signed it.")
		case child.CheckSignatureFrom(ca) != nil:
			return bad("Provided certificate is not a valid self signed certificate, or the certificate chain is not in order. Please provide either a valid self-signed certificate or certificate chain.")
		}
		child = ca
	}
	if child == leaf && leaf.CheckSignatureFrom(leaf) != nil && !bytes.Equal(leaf.RawIssuer, leaf.RawSubject) {
		return bad("Provided certificate is not a valid self signed. Please provide either a valid self-signed certificate or certificate chain.")
	}
	return nil
}

func keyType(key crypto.PublicKey) string {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA_%d", k.N.BitLen())
	case *ecdsa.PublicKey:
		return map[int]string{256: "EC_prime256v1", 384: "EC_secp384r1", 521: "EC_secp521r1"}[k.Params().BitSize]
	}
	return ""
}

// family is a key's algorithm, whatever its size.
func family(key crypto.PublicKey) string {
	name, _, _ := strings.Cut(keyType(key), "_")
	return name
}

func serial(leaf *x509.Certificate) string {
	hex := fmt.Sprintf("%032x", leaf.SerialNumber)
	if len(hex)%2 == 1 {
		hex = "0" + hex
	}
	var parts []string
	for i := 0; i < len(hex); i += 2 {
		parts = append(parts, hex[i:i+2])
	}
	return strings.Join(parts, ":")
}
