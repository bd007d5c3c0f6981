package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"gatehouse.dev/ccm"
	"gatehouse.dev/providers/gcp"
)

// google is the provider of Google Cloud's load balancers, gatehouse.dev/gcp, of one
// project.
type google struct {
	// Project is where the load balancers live, by its ID; empty is that this process has
	// none of Google Cloud's.
	Project string `json:"project,omitempty"`
	// ServiceAccount is the e-mail address of one to act as, with the credentials that
	// are found.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// QuotaProject is whose rates requests count against; empty is the credentials' own.
	QuotaProject string `json:"quotaProject,omitempty"`
	// Endpoint answers for all APIs instead of Google's own.
	Endpoint string `json:"endpoint,omitempty"`
}

func (g *google) provider() ccm.Provider {
	return ccm.Provider{Name: gcp.ProviderName, Settings: g, AddFlags: g.addFlags, Used: g.used, Check: g.check, Open: g.open}
}

func (g *google) addFlags(set *pflag.FlagSet) {
	set.StringVar(&g.Project, "gcp-project", "", "ID of the project of Google Cloud's load balancers (gatehouse.dev/gcp). Empty is none of Google Cloud's.")
	set.StringVar(&g.ServiceAccount, "gcp-service-account", "", "E-mail address of a service account to act as, with the credentials that are found. Empty is GOOGLE_IMPERSONATE_SERVICE_ACCOUNT, or none.")
	set.StringVar(&g.QuotaProject, "gcp-quota-project", "", "Project whose rates requests count against. Empty is GOOGLE_CLOUD_QUOTA_PROJECT, or the credentials' own.")
	set.StringVar(&g.Endpoint, "gcp-endpoint", "", "URL that answers for all APIs of Google Cloud, as gatehouse fake gcp does. Empty is "+gcp.EndpointVariable+", or Google Cloud.")
}

func (g *google) used() bool { return g.Project != "" }

func (g *google) check() error {
	if g.Project == "" && (g.ServiceAccount != "" || g.QuotaProject != "" || g.Endpoint != "") {
		return errors.New("project is empty, so that serviceAccount, quotaProject and endpoint mean nothing: set it, or leave them out")
	}
	return nil
}

func (g *google) open(ctx context.Context, o ccm.Options) (ccm.Backend, error) {
	p, err := gcp.Open(ctx, gcp.Config{
		Project: g.Project, ServiceAccount: g.ServiceAccount, QuotaProject: g.QuotaProject, Endpoint: g.Endpoint, Keyring: o.Keyring,
	})
	if err != nil {
		return ccm.Backend{}, err
	}
	return ccm.Backend{Provider: p, CallTimeout: gcp.CallTimeout}, nil
}
