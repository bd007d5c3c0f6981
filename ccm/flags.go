package ccm

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// flags are the controllers' own. Each overrides a field of the file.
type flags struct {
	*pflag.FlagSet
	file   string
	values Configuration
}

// addFlags binds them, and those of the providers.
func (f *flags) addFlags(set *pflag.FlagSet, all []Provider) {
	f.FlagSet, f.values = set, Defaults()
	v := &f.values
	set.StringVar(&f.file, "gatehouse-config", "", "File with a "+ConfigKind+" ("+ConfigAPIVersion+"). Flags override what it says.")
	set.IntVar(&v.Workers, "concurrent-gateway-syncs", v.Workers, "How many gateways are worked on at a time.")
	set.Var(durationText{&v.DriftInterval}, "gatehouse-drift-interval", "Time between two looks at whether the clouds still hold what was made.")
	set.Var(durationText{&v.DrainTimeout}, "gatehouse-drain-timeout", "How long calls to clouds that are under way may take to end when the manager is told to stop.")
	set.StringVar(&v.Audit.Path, "gatehouse-audit-log", "", "File that every call that changes a cloud is written to, a line of JSON each. Empty is no audit log.")
	set.IntVar(&v.Audit.MaxSizeMiB, "gatehouse-audit-log-max-size", v.Audit.MaxSizeMiB, "Size in MiB at which a new audit log is begun.")
	set.IntVar(&v.Audit.Keep, "gatehouse-audit-log-keep", v.Audit.Keep, "How many finished audit logs are kept.")
	set.StringVar(&v.Services.DefaultProvider, "gatehouse-service-default-provider", "", "Provider of Services of type LoadBalancer that have no loadBalancerClass. Empty leaves them to others.")
	for _, p := range all {
		if p.AddFlags != nil {
			p.AddFlags(set)
		}
	}
}

// configuration is what file and flags say together.
func (f *flags) configuration(all []Provider) (settings, error) {
	given := map[string]string{}
	f.VisitAll(func(flag *pflag.Flag) { // they are parsed as a part of the command's, not of this set
		if flag.Changed {
			given[flag.Name] = flag.Value.String()
		}
	})
	if f.file != "" {
		if err := f.readFile(all); err != nil {
			return settings{}, fmt.Errorf("--gatehouse-config %s: %w", f.file, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := f.Set(name, given[name]); err != nil {
			return settings{}, err
		}
	}
	s, err := f.values.settings(known(all))
	if err != nil {
		return settings{}, fmt.Errorf("flags: %w", err)
	}
	return s, check(all)
}

// readFile replaces what the flags said: they are set again afterwards.
func (f *flags) readFile(all []Provider) error {
	text, err := os.ReadFile(f.file)
	if err != nil {
		return err
	}
	read := Defaults()
	if err := read.decode(text); err != nil {
		return err
	}
	if _, err := read.settings(known(all)); err != nil {
		return err
	}
	f.values = read
	return read.sections(all)
}

func known(all []Provider) []string {
	var out []string
	for _, p := range all {
		out = append(out, p.Name)
	}
	return out
}

// sections reads each provider's part of the file.
func (c *Configuration) sections(all []Provider) error {
	for _, p := range all {
		raw := c.Providers[p.Name]
		if raw == nil {
			continue
		}
		if p.Settings == nil {
			return fmt.Errorf("providers.%s: this provider has no settings of the process", p.Name)
		}
		if err := decodeStrict(raw, p.Settings); err != nil {
			return fmt.Errorf("providers.%s: %w", p.Name, err)
		}
	}
	return nil
}

func check(all []Provider) error {
	for _, p := range all {
		if p.Check == nil {
			continue
		}
		if err := p.Check(); err != nil {
			return fmt.Errorf("providers.%s: %w", p.Name, err)
		}
	}
	return nil
}

// durationText is a flag whose value stays as it was written, as in the file.
type durationText struct{ text *string }

// String implements pflag.Value.
func (d durationText) String() string {
	if d.text == nil {
		return ""
	}
	return *d.text
}

// Set implements pflag.Value.
func (d durationText) Set(s string) error {
	_, err := time.ParseDuration(s)
	*d.text = s
	return err
}

// Type implements pflag.Value.
func (durationText) Type() string { return "duration" }
