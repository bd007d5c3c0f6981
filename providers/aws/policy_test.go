package aws

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/fake/awsapi"
)

// policyFile is what operators attach to Gatehouse's role.
const policyFile = "../../deploy/aws-iam-policy.json"

// needed are the permissions that a request takes where its own name is not all of it
// [Service Authorization Reference].
var needed = map[string][]string{
	"elasticloadbalancing:CreateLoadBalancer": {"elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:AddTags", "iam:CreateServiceLinkedRole",
		"ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeAvailabilityZones", "ec2:DescribeInternetGateways"},
	"elasticloadbalancing:CreateTargetGroup": {"elasticloadbalancing:CreateTargetGroup", "elasticloadbalancing:AddTags"},
	"elasticloadbalancing:CreateListener":    {"elasticloadbalancing:CreateListener", "elasticloadbalancing:AddTags"},
	"elasticloadbalancing:CreateRule":        {"elasticloadbalancing:CreateRule", "elasticloadbalancing:AddTags"},
	"elasticloadbalancing:CreateTrustStore":  {"elasticloadbalancing:CreateTrustStore", "elasticloadbalancing:AddTags", "s3:GetObject", "s3:GetObjectVersion"},
	"elasticloadbalancing:ModifyTrustStore":  {"elasticloadbalancing:ModifyTrustStore", "s3:GetObject", "s3:GetObjectVersion"},
	"ec2:CreateSecurityGroup":                {"ec2:CreateSecurityGroup", "ec2:CreateTags"},
	"acm:ImportCertificate":                  {"acm:ImportCertificate", "acm:AddTagsToCertificate"},
	"s3:DeleteObject":                        {"s3:DeleteObject", "s3:DeleteObjectVersion"},
	"s3:ListObjectsV2":                       {"s3:ListBucket"},
	"s3:ListObjectVersions":                  {"s3:ListBucketVersions"},
	"s3:HeadBucket":                          {"s3:ListBucket"},
	"sts:GetCallerIdentity":                  {}, // nobody can be denied it
}

func permissionsOf(request string) []string {
	if all, special := needed[request]; special {
		return all
	}
	return []string{request}
}

// readPolicy are the actions that the policy allows. It allows no pattern of actions.
func readPolicy(t testing.TB) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(policyFile)
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Version   string
		Statement []struct {
			Sid, Effect string
			Action      []string
			Resource    any
			Condition   map[string]map[string]string
		}
	}
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, s := range policy.Statement {
		for _, action := range s.Action {
			if s.Effect != "Allow" || strings.Contains(action, "*") {
				t.Errorf("%s: %s %s: want single actions, allowed", s.Sid, s.Effect, action)
			}
			out[action] = true
		}
	}
	return out
}

// requests are what the code can ask AWS for, by the names of permissions.
func requests(t *testing.T) map[string]bool {
	t.Helper()
	iam := map[string]string{"elb": "elasticloadbalancing", "resourcegroupstaggingapi": "tag", "tagging": "tag"}
	out := map[string]bool{}
	find := func(glob, service string, pattern *regexp.Regexp) {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", glob, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
				of := service
				if of == "" {
					of = m[1]
				}
				if name, other := iam[of]; other {
					of = name
				}
				if m[2] != "Options" {
					out[of+":"+m[2]] = true
				}
			}
		}
	}
	find("*.go", "", regexp.MustCompile(`calls\.(elb|acm|s3|tagging|sts)\.([A-Z]\w*)\(`))
	find("*.go", "", regexp.MustCompile(`\b(elb|acm|s3|resourcegroupstaggingapi)\.New([A-Z]\w*)Paginator\(`))
	find("../../internal/ec2calls/*.go", "ec2", regexp.MustCompile(`(api)\.([A-Z]\w*)\(`))
	find("../../internal/ec2calls/*.go", "ec2", regexp.MustCompile(`(ec2)\.New([A-Z]\w*)Paginator\(`))
	return out
}

// TestPolicyIsWhatIsNeeded: an operator who attaches the policy gives what the code can
// ask for, and nothing else.
func TestPolicyIsWhatIsNeeded(t *testing.T) {
	allowed, asked := readPolicy(t), requests(t)
	if len(asked) < 50 {
		t.Fatalf("only %d requests were found in the code: %v", len(asked), slices.Sorted(maps.Keys(asked)))
	}
	used := map[string]string{}
	for _, request := range slices.Sorted(maps.Keys(asked)) {
		for _, permission := range permissionsOf(request) {
			used[permission] = request
			if !allowed[permission] {
				t.Errorf("the code asks for %s, and the policy does not allow %s", request, permission)
			}
		}
	}
	for _, permission := range slices.Sorted(maps.Keys(allowed)) {
		if used[permission] == "" {
			t.Errorf("the policy allows %s, which nothing asks for", permission)
		}
	}
}

// permits lets an emulated account allow what the policy does, and nothing else.
func permits(t testing.TB) func(key, service, action string) bool {
	allowed := readPolicy(t)
	iam := map[string]string{awsapi.Tagging: "tag"}
	return func(_, service, action string) bool {
		if name, other := iam[service]; other {
			service = name
		}
		return !slices.ContainsFunc(permissionsOf(service+":"+action), func(p string) bool { return !allowed[p] })
	}
}
