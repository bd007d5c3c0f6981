package gcp

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"

	"gatehouse.dev/internal/gcpcalls"
)

// adviceOn is what a person can do about an error; "" is for what needs nobody.
func adviceOn(e *gcpcalls.Error) string {
	project := projectIn(e.Path)
	switch reason := reasonOf(e); {
	case reason == "accessNotConfigured" || reason == "serviceDisabled":
		return "enable it: gcloud services enable " + apiOf(e) + " --project=" + project
	case e.Status == http.StatusNotFound && projectOnly(e.Message):
		return "there is no project " + project + ", or these credentials do not see it: correct gcp.project of GatewayParameters, or GOOGLE_CLOUD_PROJECT"
	case reason == "accessTokenScopeInsufficient" || reason == "insufficientPermissions":
		return "the token is not for " + cloudPlatform + ": give the nodes or the service account that scope, or use Workload Identity"
	case reason == "userProjectDenied":
		return "grant serviceusage.services.use in the quota project, or unset it (GOOGLE_CLOUD_QUOTA_PROJECT)"
	case reason == "billingNotEnabled" || reason == "billingDisabled":
		return "link a billing account: gcloud billing projects link " + project
	case e.Status == http.StatusForbidden && permissionIn(e) != "":
		return "grant " + permissionIn(e) + " to whom Gatehouse is; the role in deploy/gcp-role.yaml has all that it needs"
	case e.Status == http.StatusUnauthorized:
		return "log in (gcloud auth application-default login), or see that the credentials that GOOGLE_APPLICATION_CREDENTIALS names are valid"
	case reason == "quotaExceeded" || reason == "limitExceeded":
		return "ask for more at https://console.cloud.google.com/iam-admin/quotas?project=" + project + ", or delete what is not used; it is tried again by itself"
	case strings.Contains(e.Message, "proxy-only subnet"):
		return "make one: gcloud compute networks subnets create NAME --purpose=REGIONAL_MANAGED_PROXY --role=ACTIVE --network=NETWORK --region=REGION --range=CIDR --project=" + project
	default:
		return ""
	}
}

// projectIn is the project of a path.
func projectIn(path string) string {
	_, rest, _ := strings.Cut(path, "projects/")
	project, _, _ := strings.Cut(rest, "/")
	return project
}

// apiOf is the API that a request was for.
func apiOf(e *gcpcalls.Error) string {
	parts := strings.Split(e.Path, "/")
	if len(parts) > 4 && parts[2] == "locations" {
		return cmp.Or(e.Info["service"], service(kindOf(parts[4])))
	}
	return cmp.Or(e.Info["service"], "compute.googleapis.com")
}

var wanted = regexp.MustCompile(`[a-z]+\.[a-zA-Z]+\.[a-zA-Z]+`)

// permissionIn is the permission that was missing.
func permissionIn(e *gcpcalls.Error) string {
	if e.Info["permission"] != "" {
		return e.Info["permission"]
	}
	if found := quoted.FindStringSubmatch(e.Message); found != nil && wanted.MatchString(found[1]) {
		return found[1]
	}
	return ""
}
