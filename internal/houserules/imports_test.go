package houserules

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rule forbids imports. Deps are looked for among all dependencies; Direct only
// among a package's own imports, for the standard library: nearly everything
// reaches os in the end.
type rule struct {
	name   string
	of     string   // import path, or a prefix that ends in "/..."
	deps   []string // prefixes
	direct []string
	except []string // packages of ours that Deps forbids in general but this folder may have
	only   []string // likewise, but not what is below them
	why    string
}

// providerSettings are plain data, which the API embeds: who uses the API has them all.
var providerSettings = []string{"gatehouse.dev/providers/aws/settings", "gatehouse.dev/providers/gcp/settings"}

var rules = []rule{
	{
		name: "lbmodel is the bottom", of: "gatehouse.dev/lbmodel",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/", "cloud.google.com/"},
		direct: []string{"net/http", "os", "log", "log/slog", "math/rand", "math/rand/v2"},
		why:    "the model is pure and independent of Kubernetes and of every cloud",
	},
	{
		name: "translate is pure", of: "gatehouse.dev/internal/translate",
		deps:   []string{"gatehouse.dev/", "k8s.io/client-go", "github.com/aws/", "cloud.google.com/"},
		except: []string{"gatehouse.dev/lbmodel", "gatehouse.dev/api/", "gatehouse.dev/fake/settings", "gatehouse.dev/providers/aws/settings", "gatehouse.dev/providers/gcp/settings"},
		only:   []string{"gatehouse.dev/meshsync"},
		direct: []string{"net/http", "os", "log", "log/slog", "math/rand", "math/rand/v2"},
		why:    "translation sees a Snapshot and nothing else; it only needs API types, which embed the providers' settings, and the judge of meshes, but none of them",
	},
	{
		name: "the judge of meshes", of: "gatehouse.dev/meshsync",
		deps:   []string{"gatehouse.dev/", "k8s.io/client-go", "google.golang.org/grpc"},
		except: []string{"gatehouse.dev/lbmodel"},
		direct: []string{"net/http", "os", "log", "log/slog", "math/rand", "math/rand/v2"},
		why:    "translation judges with it, so it is as pure, and it is the same for every mesh, so it knows none",
	},
	{
		name: "the provider border", of: "gatehouse.dev/providers",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/", "cloud.google.com/"},
		except: []string{"gatehouse.dev/lbmodel"},
		why:    "Account works for every provider, so it can know none",
	},
	{
		name: "the laws", of: "gatehouse.dev/providers/providertest",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/"},
		except: []string{"gatehouse.dev/lbmodel", "gatehouse.dev/providers"},
		why:    "the laws are the same for every provider",
	},
	{
		name: "settings are data", of: "gatehouse.dev/fake/settings",
		deps: []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/"},
		why:  "the API embeds them, so they may need nothing but the standard library",
	},
	{
		name: "AWS's settings are data", of: "gatehouse.dev/providers/aws/settings",
		deps: []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/"},
		why:  "the API embeds them, so they may need nothing but the standard library",
	},
	{
		name: "AWS", of: "gatehouse.dev/providers/aws",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "cloud.google.com/"},
		except: []string{"gatehouse.dev/lbmodel", "gatehouse.dev/providers/aws", "gatehouse.dev/providers/naming", "gatehouse.dev/providers/numbering", "gatehouse.dev/internal/ec2calls"},
		only:   []string{"gatehouse.dev/providers"},
		why:    "a provider knows its own cloud, and neither Kubernetes nor another provider",
	},
	{
		name: "Google Cloud's settings are data", of: "gatehouse.dev/providers/gcp/settings",
		deps: []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "cloud.google.com/"},
		why:  "the API embeds them, so they may need nothing but the standard library",
	},
	{
		name: "Google Cloud", of: "gatehouse.dev/providers/gcp",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/"},
		except: []string{"gatehouse.dev/lbmodel", "gatehouse.dev/providers/gcp", "gatehouse.dev/providers/naming", "gatehouse.dev/internal/gcpcalls"},
		only:   []string{"gatehouse.dev/providers"},
		why:    "a provider knows its own cloud, and neither Kubernetes nor another provider",
	},
	{
		name: "the fake cloud", of: "gatehouse.dev/fake/cloud",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/", "cloud.google.com/"},
		except: []string{"gatehouse.dev/lbmodel", "gatehouse.dev/providers", "gatehouse.dev/fake/"},
		why:    "the fake is a provider like any other",
	},
	{
		name: "the AWS emulator", of: "gatehouse.dev/fake/awsapi/live",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/", "cloud.google.com/"},
		except: []string{"gatehouse.dev/fake/awsapi", "gatehouse.dev/fake/calls", "gatehouse.dev/fake/sockets"},
		why:    "the emulator does what AWS does, not what our provider or AWS's SDK believes",
	},
	{
		name: "the Google Cloud emulator", of: "gatehouse.dev/fake/gcpapi/live",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/", "cloud.google.com/", "google.golang.org/api"},
		except: []string{"gatehouse.dev/fake/gcpapi", "gatehouse.dev/fake/calls", "gatehouse.dev/fake/sockets"},
		why:    "the emulator does what Google Cloud does, not what our provider or Google's clients believe",
	},
	{
		name: "calls", of: "gatehouse.dev/fake/calls",
		deps: []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/", "cloud.google.com/"},
		why:  "emulators that must not know of one another share it",
	},
	{
		name: "sockets", of: "gatehouse.dev/fake/sockets",
		deps: []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/", "cloud.google.com/"},
		why:  "load balancers that must not know of one another share them",
	},
	{
		name: "the data plane", of: "gatehouse.dev/fake/dataplane",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/", "cloud.google.com/"},
		except: []string{"gatehouse.dev/lbmodel", "gatehouse.dev/fake/settings", "gatehouse.dev/fake/sockets"},
		why:    "a data plane serves what it is given and asks nobody",
	},
	{
		name: "manifest reads files", of: "gatehouse.dev/internal/manifest",
		deps:   []string{"gatehouse.dev/providers", "gatehouse.dev/fake/cloud", "gatehouse.dev/fake/dataplane", "gatehouse.dev/internal/cli"},
		except: providerSettings,
		why:    "files mean the same whatever provider serves them",
	},
	{
		name: "the loop", of: "gatehouse.dev/internal/reconcile",
		deps: []string{"gatehouse.dev/fake/cloud", "gatehouse.dev/fake/dataplane", "gatehouse.dev/fake/local", "gatehouse.dev/internal/cli", "gatehouse.dev/internal/manifest", "k8s.io/client-go"},
		why:  "files and a controller drive it alike, over any provider",
	},
	{
		name: "roots outside", of: "gatehouse.dev/internal/rootsync",
		deps:   []string{"gatehouse.dev/providers", "gatehouse.dev/fake/cloud", "gatehouse.dev/fake/dataplane", "gatehouse.dev/fake/mesh", "gatehouse.dev/internal/cli", "gatehouse.dev/internal/controller", "gatehouse.dev/internal/manifest", "k8s.io/client-go"},
		except: providerSettings,
		why:    "files, a controller and single commands read the same places, whatever provider is told of them; tokens are handed to it",
	},
	{
		name: "membership", of: "gatehouse.dev/internal/member",
		deps: []string{"gatehouse.dev/fake/cloud", "gatehouse.dev/fake/dataplane", "gatehouse.dev/fake/local", "gatehouse.dev/fake/mesh", "gatehouse.dev/internal/cli", "gatehouse.dev/internal/controller", "gatehouse.dev/internal/manifest", "k8s.io/client-go"},
		why:  "files, a controller and the demo ask meshes alike, over any provider; tokens are handed to it",
	},
	{
		name: "the controller", of: "gatehouse.dev/internal/controller",
		deps:   []string{"gatehouse.dev/fake/cloud", "gatehouse.dev/fake/dataplane", "gatehouse.dev/fake/local", "gatehouse.dev/fake/remote", "gatehouse.dev/providers/aws", "gatehouse.dev/providers/gcp", "gatehouse.dev/internal/cli", "gatehouse.dev/internal/manifest"},
		except: providerSettings,
		why:    "a controller drives whatever providers it is handed",
	},
	{
		name: "what a cloud-controller-manager imports", of: "gatehouse.dev/ccm",
		deps:   []string{"gatehouse.dev/fake/cloud", "gatehouse.dev/fake/dataplane", "gatehouse.dev/fake/local", "gatehouse.dev/fake/remote", "gatehouse.dev/providers/aws", "gatehouse.dev/providers/gcp", "gatehouse.dev/internal/cli", "gatehouse.dev/internal/manifest"},
		except: providerSettings,
		why:    "a vendor's manager gets no other cloud's code with it",
	},
	{
		name: "the fake cloud as a process", of: "gatehouse.dev/fake/remote",
		deps:   []string{"gatehouse.dev/", "k8s.io/", "sigs.k8s.io/", "github.com/aws/", "cloud.google.com/"},
		except: []string{"gatehouse.dev/lbmodel", "gatehouse.dev/providers", "gatehouse.dev/fake/"},
		why:    "the fake is a provider like any other",
	},
	{
		name: "the CLI", of: "gatehouse.dev/internal/cli",
		deps:   []string{"gatehouse.dev/providers/aws", "gatehouse.dev/providers/gcp", "gatehouse.dev/fake/cloud", "gatehouse.dev/fake/dataplane"},
		except: providerSettings,
		why:    "only cmd chooses concrete providers",
	},
}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestImportRules(t *testing.T) {
	packages := list(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			p, ok := packages[r.of]
			if !ok {
				t.Fatalf("package %s is gone: the rule about it must go or move", r.of)
			}
			for _, dep := range p.Deps {
				if has(r.deps, dep) && !has(r.except, dep) && !slices.Contains(r.only, dep) && dep != r.of {
					t.Errorf("%s depends on %s: %s", r.of, dep, r.why)
				}
			}
			for _, imp := range p.Imports {
				if slices.Contains(r.direct, imp) {
					t.Errorf("%s imports %s: %s", r.of, imp, r.why)
				}
			}
		})
	}
}

// TestOnlyCommandsChooseProviders keeps concrete providers out of everything
// that is not a main package or the demo of the embedded one.
func TestOnlyCommandsChooseProviders(t *testing.T) {
	concrete := []string{"gatehouse.dev/fake/cloud"}
	for path, p := range list(t) {
		allowed := strings.HasPrefix(path, "gatehouse.dev/cmd/") || strings.HasPrefix(path, "gatehouse.dev/fake/")
		for _, imp := range p.Imports {
			if slices.Contains(concrete, imp) && !allowed {
				t.Errorf("%s imports %s: only cmd chooses concrete providers", path, imp)
			}
		}
	}
}

func has(prefixes []string, path string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool {
		return path == strings.TrimSuffix(p, "/") || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/")
	})
}

func list(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Deps", "gatehouse.dev/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]listed{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.ImportPath, "gatehouse.dev/") {
			packages[p.ImportPath] = p
		}
	}
}
