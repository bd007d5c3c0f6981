package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gatehouse.dev/internal/cli"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/gcp"
)

// pendingGCP is how long a command waits for what Google Cloud has accepted: certificates
// and load balancers take minutes.
const pendingGCP = 10 * time.Minute

// google is the provider of Google Cloud's load balancers, gatehouse.dev/gcp.
func google() cli.Provider {
	const regional = `"location":"europe-west1","subnetwork":"gateways","proxyRanges":["10.129.0.0/23"]`
	flavour := func(name, flavour, place string) cli.Flavour {
		return cli.Flavour{Name: name, Settings: json.RawMessage(`{"project":"my-project","flavour":"` + flavour + `","zones":["europe-west1-b"],` + place + `}`)}
	}
	return cli.Provider{
		Name:     gcp.ProviderName,
		Compiler: gcp.Compiler{},
		Flavours: []cli.Flavour{
			flavour("gcp-global", "GlobalExternal", `"location":"global"`),
			flavour("gcp-regional", "RegionalExternal", regional),
			flavour("gcp-internal", "RegionalInternal", regional),
			flavour("gcp-cross-region", "CrossRegionInternal", `"proxyRanges":["10.129.0.0/23"],"frontends":[{"region":"europe-west1","subnetwork":"gateways"}]`),
			flavour("gcp-passthrough", "PassthroughExternal", `"location":"europe-west1","nodeSubnetwork":"nodes"`),
		},
		Remote: true,
		Open:   openGCP,
		Doctor: doctorGCP,
	}
}

func openGCP(ctx context.Context, o cli.Options) (cli.Backend, error) {
	config, err := configGCP(o)
	if err != nil {
		return cli.Backend{}, err
	}
	p, err := gcp.Open(ctx, config)
	if err != nil {
		return cli.Backend{}, fmt.Errorf("%w (gatehouse doctor gcp says more)", err)
	}
	return cli.Backend{Provider: p, Patience: providers.Patience{Pending: pendingGCP}, CallTimeout: gcp.CallTimeout}, nil
}

// configGCP is the project that a command is about: the one that its files name, and else
// the one that Google's tools would find.
func configGCP(o cli.Options) (gcp.Config, error) {
	config := gcp.Config{Keyring: o.Keyring}
	for _, section := range o.Settings {
		var s struct{ Project string }
		if json.Unmarshal(section, &s) != nil || s.Project == "" {
			continue // compiling tells
		}
		if config.Project != "" && config.Project != s.Project {
			return config, fmt.Errorf("the files name the projects %s and %s: one command works in one, so give each its own files", config.Project, s.Project)
		}
		config.Project = s.Project
	}
	return config, nil
}

// doctorGCP examines the project that commands would work in.
func doctorGCP(ctx context.Context, o cli.Options) ([]cli.Check, error) {
	config, err := configGCP(o)
	if err != nil {
		return nil, err
	}
	p, err := gcp.Load(ctx, config)
	if err != nil {
		return nil, err
	}
	states := map[gcp.State]cli.Health{gcp.Fine: cli.Healthy, gcp.Doubtful: cli.Doubtful, gcp.Failed: cli.Broken, gcp.Unproven: cli.Unproven}
	var out []cli.Check
	for _, c := range p.Examine(ctx, o.Settings) {
		out = append(out, cli.Check{Name: c.Name, Detail: c.Detail, State: states[c.State]})
	}
	return out, nil
}
