package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/live"
	"gatehouse.dev/internal/cli"
)

// fakeAWSFlags are those of `gatehouse fake aws`.
type fakeAWSFlags struct {
	emulatorFlags

	region, account, pace string
}

func fakeAWS(env cli.Env) *cobra.Command {
	var flags fakeAWSFlags
	cmd := &cobra.Command{
		Use:   "aws",
		Short: "Run an AWS account without AWS: load balancers, certificates, security groups",
		Long: `Answers the APIs of Elastic Load Balancing v2, ACM, EC2 (what a load balancer's
controller needs of it), S3, STS and the tagging API on this machine, with AWS's errors,
quotas, delays and throttling. SDKs, the AWS CLI and other controllers can use it: what
they must be told is printed. Its load balancers really serve, on loopback addresses.

Any access key is let in, and no signature is checked: it is for tests, and listens where
you say. Everything is in memory, and gone at the end.`,
		Example: `  gatehouse fake aws --listen 127.0.0.1:4566
  AWS_ENDPOINT_URL=http://127.0.0.1:4566 aws elbv2 describe-load-balancers`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := flags.config()
			if err != nil {
				return err
			}
			log := logOf(cmd, env)
			var account *live.Live
			return flags.run(cmd.Context(), log, func() emulator {
				account = live.Start(cmd.Context(), live.Config{API: config, Log: log})
				return account
			}, func(endpoint string) error { return flags.tell(env.Out, account.Server, endpoint) })
		},
	}
	add := cmd.Flags()
	add.StringVar(&flags.region, "region", "us-east-1", "the region that it is")
	add.StringVar(&flags.account, "account", "123456789012", "the account that it is")
	add.StringVar(&flags.pace, "pace", "aws", "aws: its delays and token buckets; none: everything at once, without throttling")
	flags.addTo(cmd, "127.0.0.1:4566", "VPCs, Subnets, Instances, Groups (default a VPC with subnets in three zones)")
	return cmd
}

// config is the account that the flags ask for.
func (f *fakeAWSFlags) config() (awsapi.Config, error) {
	out := awsapi.Config{Region: f.region, Account: f.account}
	if err := checkOutput(f.output); err != nil {
		return out, err
	}
	switch {
	case len(f.account) != 12:
		return out, fmt.Errorf("--account %q: want 12 digits", f.account)
	case f.pace == "aws":
		out.Buckets, out.Times = awsapi.Buckets(), awsapi.Lifelike()
	case f.pace != "none":
		return out, fmt.Errorf("--pace %q: want aws or none", f.pace)
	}
	return out, f.readWorld(&out.World, func() error {
		if len(out.World.VPCs) == 0 {
			return errors.New("there is no VPC in it")
		}
		return nil
	})
}

// awsListening is what -o json prints.
type awsListening struct {
	Endpoint string   `json:"endpoint"`
	Region   string   `json:"region"`
	Account  string   `json:"account"`
	VPC      string   `json:"vpc"`
	Subnets  []string `json:"subnets"`
}

// tell says in one piece how to use it.
func (f *fakeAWSFlags) tell(out io.Writer, account *awsapi.Server, endpoint string) error {
	now := awsListening{Endpoint: endpoint, Region: account.Region, Account: account.Account, VPC: account.World.VPCs[0].ID}
	for _, s := range account.World.Subnets {
		now.Subnets = append(now.Subnets, s.ID)
	}
	slices.Sort(now.Subnets)
	return f.print(out, now, fmt.Sprintf(`AWS account %s, %s, is emulated at %s
Whoever is to use it needs:

  export AWS_ENDPOINT_URL=%s AWS_REGION=%s AWS_DEFAULT_REGION=%s
  export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test

Its network is %s with the subnets
  %s
What it holds is at %s, its calls at %s, its listeners at %s
`, now.Account, now.Region, endpoint, endpoint, now.Region, now.Region, now.VPC, strings.Join(now.Subnets, "\n  "),
		awsapi.AdminPath+"state", awsapi.AdminPath+"calls", awsapi.AdminPath+"listeners"))
}
