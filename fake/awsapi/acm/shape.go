package acm

import "gatehouse.dev/fake/awsapi/wire"

// The shapes of the API. What only certificates have that AWS issued is any: there
// are none here.

type tag struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

// tagOut is a tag that is told: with its value, also an empty one.
type tagOut struct {
	Key   string
	Value *string
}

type (
	importCertificate struct {
		Certificate      []byte
		CertificateArn   string
		CertificateChain []byte
		PrivateKey       []byte
		Tags             []tag
	}
	ofCertificate struct{ CertificateArn string }
	ofResource    struct{ ResourceArn string }
	withTags      struct {
		CertificateArn string
		ResourceArn    string
		Tags           []tag
	}
	withTagKeys struct {
		ResourceArn string
		TagKeys     []string
	}
	listCertificates struct {
		CertificateKeyPairOrigins []string
		CertificateStatuses       []string
		Includes                  *includes
		MaxItems                  *int
		NextToken                 string
		SortBy                    string
		SortOrder                 string
	}
	includes struct {
		ExportOption     string   `json:"exportOption"`
		ExtendedKeyUsage []string `json:"extendedKeyUsage"`
		KeyTypes         []string `json:"keyTypes"`
		KeyUsage         []string `json:"keyUsage"`
		ManagedBy        string   `json:"managedBy"`
	}
)

type (
	arnOut  struct{ CertificateArn string }
	tagsOut struct{ Tags []tagOut }
	getOut  struct{ Certificate, CertificateChain string }
	descOut struct{ Certificate detail }
	listOut struct {
		CertificateSummaryList []summary
		NextToken              string
	}
)

type detail struct {
	AcmeAccountId, AcmeEndpointArn string
	CertificateArn                 string
	CertificateAuthorityArn        string
	CertificateKeyPairOrigin       string
	CreatedAt                      wire.Epoch
	DomainName                     string
	DomainValidationOptions        any
	ExtendedKeyUsages              []extendedUsage
	FailureReason                  string
	ImportedAt                     wire.Epoch
	InUseBy                        []string
	IssuedAt                       wire.Epoch
	Issuer                         string
	KeyAlgorithm                   string
	KeyUsages                      []usage
	ManagedBy                      string
	NotAfter, NotBefore            wire.Epoch
	Options                        *options
	RenewalEligibility             string
	RenewalSummary                 any
	RevocationReason               string
	RevokedAt                      wire.Epoch
	Serial                         string
	SignatureAlgorithm             string
	Status                         string
	Subject                        string
	SubjectAlternativeNames        []string
	Type                           string
	UpdateSummary                  any
}

type extendedUsage struct{ Name, OID string }

type usage struct{ Name string }

type options struct{ CertificateTransparencyLoggingPreference, Export, ValidationMethod string }

type summary struct {
	CertificateArn                       string
	CertificateKeyPairOrigin             string
	CreatedAt                            wire.Epoch
	DomainName                           string
	ExportOption                         string
	Exported                             *bool
	ExtendedKeyUsages                    []string
	HasAdditionalSubjectAlternativeNames *bool
	ImportedAt                           wire.Epoch
	InUse                                *bool
	IssuedAt                             wire.Epoch
	KeyAlgorithm                         string
	KeyUsages                            []string
	ManagedBy                            string
	NotAfter, NotBefore                  wire.Epoch
	RenewalEligibility                   string
	RevokedAt                            wire.Epoch
	Status                               string
	SubjectAlternativeNameSummaries      []string
	Type                                 string
}
