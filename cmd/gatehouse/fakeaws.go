package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/live"
	"gatehouse.dev/internal/cli"
)

// fakes is `gatehouse fake`: emulators of clouds' own APIs.
func fakes(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fake",
		Short: "Run an emulator of a cloud's API on this machine",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(fakeAWS(env), fakeGCP(env))
	return cmd
}

// fakeAWSFlags are those of `gatehouse fake aws`.
type fakeAWSFlags struct {
	listen, region, account, pace, world, output string
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
			level := slog.LevelWarn
			if n, err := cmd.Flags().GetCount("verbose"); err == nil { // the root's flag
				level -= slog.Level(4 * n)
			}
			return flags.run(cmd.Context(), env, slog.New(slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: level})))
		},
	}
	add := cmd.Flags()
	add.StringVar(&flags.listen, "listen", "127.0.0.1:4566", "address and port; port 0 is any free one")
	add.StringVar(&flags.region, "region", "us-east-1", "the region that it is")
	add.StringVar(&flags.account, "account", "123456789012", "the account that it is")
	add.StringVar(&flags.pace, "pace", "aws", "aws: its delays and token buckets; none: everything at once, without throttling")
	add.StringVar(&flags.world, "world", "", "file of the network, as JSON: VPCs, Subnets, Instances, Groups (default a VPC with subnets in three zones)")
	add.StringVarP(&flags.output, "output", "o", "text", "text or json: how to print where it listens")
	return cmd
}

// config is the account that the flags ask for.
func (f *fakeAWSFlags) config() (awsapi.Config, error) {
	out := awsapi.Config{Region: f.region, Account: f.account}
	switch {
	case f.output != "text" && f.output != "json":
		return out, fmt.Errorf("--output %q: want text or json", f.output)
	case len(f.account) != 12:
		return out, fmt.Errorf("--account %q: want 12 digits", f.account)
	case f.pace == "aws":
		out.Buckets, out.Times = awsapi.Buckets(), awsapi.Lifelike()
	case f.pace != "none":
		return out, fmt.Errorf("--pace %q: want aws or none", f.pace)
	}
	if f.world == "" {
		return out, nil
	}
	text, err := os.ReadFile(f.world)
	if err == nil {
		err = json.Unmarshal(text, &out.World, json.RejectUnknownMembers(true))
	}
	if err == nil && len(out.World.VPCs) == 0 {
		err = errors.New("there is no VPC in it")
	}
	if err != nil {
		return out, fmt.Errorf("--world %s: %w", f.world, err)
	}
	return out, nil
}

func (f *fakeAWSFlags) run(ctx context.Context, env cli.Env, log *slog.Logger) error {
	config, err := f.config()
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	account := live.Start(ctx, live.Config{API: config, Log: log})
	// Calls that lose their reply on purpose end in a panic that net/http knows.
	server := &http.Server{Handler: account, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	told := f.tell(env.Out, account.Server, "http://"+listener.Addr().String())
	if told == nil {
		select {
		case <-ctx.Done():
		case err = <-ended:
		}
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(told, err, server.Shutdown(over), account.Close(over))
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
	if f.output == "json" {
		text, err := json.Marshal(now, jsontext.WithIndent("  "))
		if err == nil {
			_, err = fmt.Fprintln(out, string(text))
		}
		return err
	}
	_, err := fmt.Fprintf(out, `AWS account %s, %s, is emulated at %s
Whoever is to use it needs:

  export AWS_ENDPOINT_URL=%s AWS_REGION=%s AWS_DEFAULT_REGION=%s
  export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test

Its network is %s with the subnets
  %s
What it holds is at %s, its calls at %s, its listeners at %s
`, now.Account, now.Region, endpoint, endpoint, now.Region, now.Region, now.VPC, strings.Join(now.Subnets, "\n  "),
		awsapi.AdminPath+"state", awsapi.AdminPath+"calls", awsapi.AdminPath+"listeners")
	return err
}
