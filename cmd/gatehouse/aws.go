package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gatehouse.dev/internal/cli"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/aws"
)

// pendingAWS is how long a command waits for what AWS has accepted: a load balancer
// takes minutes to come into service.
const pendingAWS = 10 * time.Minute

// amazon is the provider of AWS's load balancers, gatehouse.dev/aws.
func amazon() cli.Provider {
	flavour := func(name, flavour string) cli.Flavour {
		return cli.Flavour{Name: name, Settings: json.RawMessage(`{"region":"us-east-1","flavour":"` + flavour + `","ipAddressType":"dualstack","trust":{"bucket":"trust"}}`)}
	}
	return cli.Provider{
		Name:     aws.ProviderName,
		Compiler: aws.Compiler{},
		Flavours: []cli.Flavour{flavour("aws-alb", "Application"), flavour("aws-nlb", "Network"), flavour("aws-alb-nlb", "ApplicationBehindNetwork")},
		Remote:   true,
		Open:     openAWS,
		Doctor:   doctorAWS,
	}
}

func openAWS(ctx context.Context, o cli.Options) (cli.Backend, error) {
	config, err := configAWS(o)
	if err != nil {
		return cli.Backend{}, err
	}
	p, err := aws.Open(ctx, config)
	if err != nil {
		return cli.Backend{}, fmt.Errorf("%w (gatehouse doctor aws says more)", err)
	}
	return cli.Backend{Provider: p, Patience: providers.Patience{Pending: pendingAWS}, CallTimeout: aws.CallTimeout}, nil
}

// configAWS is the account that a command is about: of the region that its files name,
// and else of the one that AWS's tools would find.
func configAWS(o cli.Options) (aws.Config, error) {
	config := aws.Config{Keyring: o.Keyring}
	for _, section := range o.Settings {
		var s struct{ Region string }
		if json.Unmarshal(section, &s) != nil || s.Region == "" {
			continue // compiling tells
		}
		if config.Region != "" && config.Region != s.Region {
			return config, fmt.Errorf("the files name the regions %s: one command works in one, so give each its own files", strings.Join([]string{config.Region, s.Region}, " and "))
		}
		config.Region = s.Region
	}
	return config, nil
}

// doctorAWS examines the account that commands would work in.
func doctorAWS(ctx context.Context, o cli.Options) ([]cli.Check, error) {
	config, err := configAWS(o)
	if err != nil {
		return nil, err
	}
	p, err := aws.Load(ctx, config)
	if err != nil {
		return nil, err
	}
	states := map[aws.State]cli.Health{aws.Fine: cli.Healthy, aws.Doubtful: cli.Doubtful, aws.Failed: cli.Broken, aws.Unproven: cli.Unproven}
	var out []cli.Check
	for _, c := range p.Examine(ctx, o.Settings) {
		out = append(out, cli.Check{Name: c.Name, Detail: c.Detail, State: states[c.State]})
	}
	return out, nil
}
