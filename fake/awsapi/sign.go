package awsapi

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/awsapi/wire"
)

// signer is what a request's signature says about who signed it, and for what. The
// signature itself is neither checked nor kept.
type signer struct{ key, region, service string }

// signerOf reads a request's credential scope, from its header or, where it is
// presigned, from its query. It is zero for a request that is not signed.
func signerOf(r *http.Request) signer {
	scope := r.URL.Query().Get("X-Amz-Credential")
	if rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256"); ok {
		for part := range strings.SplitSeq(rest, ",") {
			if value, ok := strings.CutPrefix(strings.TrimSpace(part), "Credential="); ok {
				scope = value
			}
		}
	}
	parts := strings.Split(scope, "/") // key, date, region, service, aws4_request
	if len(parts) != 5 {
		return signer{}
	}
	return signer{key: parts[0], region: parts[2], service: parts[3]}
}

// serviceOf is the service that a request is for.
func serviceOf(r *wire.Request, from signer) string {
	switch version := r.Form.Get("Version"); {
	case from.service != "":
		return from.service
	case strings.HasPrefix(r.Header.Get("X-Amz-Target"), "CertificateManager."):
		return ACM
	case strings.HasPrefix(r.Header.Get("X-Amz-Target"), "ResourceGroupsTaggingAPI"), strings.HasPrefix(r.URL.Path, "/service/ResourceGroupsTaggingAPI"):
		return Tagging
	case version == "2015-12-01":
		return ELB
	case version == "2016-11-15":
		return EC2
	case version == "2011-06-15":
		return STS
	}
	return S3
}

// admit refuses callers that are not let in.
func (s *Server) admit(now time.Time, from signer, service, action string) *wire.Error {
	until, issued := s.sts.Issued(from.key)
	switch {
	case from.key == "" && action == "AssumeRoleWithWebIdentity": // which is how to get a key
		return nil
	case from.key == "" && service == S3:
		return denied(service, "AccessDenied", "Access Denied")
	case from.key == "":
		return denied(service, "MissingAuthenticationToken", "Request is missing Authentication Token")
	case issued && now.After(until):
		return denied(service, "ExpiredToken", "The security token included in the request is expired")
	case from.region != "" && from.region != s.home.Region:
		return denied(service, "SignatureDoesNotMatch", "Credential should be scoped to a valid region.")
	case issued || len(s.Keys) == 0 || slices.Contains(s.Keys, from.key):
		return nil
	}
	code := map[string]string{EC2: "AuthFailure", S3: "InvalidAccessKeyId", ACM: "UnrecognizedClientException", Tagging: "UnrecognizedClientException"}[service]
	if code == "" {
		code = "InvalidClientTokenId"
	}
	return denied(service, code, "The security token included in the request is invalid.")
}

// forbidden is a refusal for want of a permission.
func forbidden(service, action string) *wire.Error {
	code := map[string]string{EC2: "UnauthorizedOperation", ACM: "AccessDeniedException", Tagging: "AccessDeniedException"}[service]
	if code == "" {
		code = "AccessDenied"
	}
	out := denied(service, code, "User is not authorized to perform: "+service+":"+action)
	if service == EC2 {
		out.Status = http.StatusForbidden
	}
	return out
}

func denied(service, code, message string) *wire.Error {
	status := http.StatusForbidden
	switch service {
	case ACM, Tagging:
		status = http.StatusBadRequest
	case EC2:
		status = http.StatusUnauthorized
	}
	return &wire.Error{Status: status, Code: code, Message: message}
}
