package ccm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// The type of configuration file that is read.
const (
	ConfigAPIVersion = "config.gatehouse.dev/v1alpha1"
	ConfigKind       = "GatehouseConfiguration"
)

// Configuration is the file of --gatehouse-config, and what flags make of it.
// Durations are written as Go writes them: 90s, 5m.
type Configuration struct {
	// APIVersion is config.gatehouse.dev/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is GatehouseConfiguration.
	Kind string `json:"kind"`
	// ClusterName is part of the name of everything that is made in a cloud, so it
	// must differ between the clusters of an account and must never change. It
	// counts unless --cluster-name is given.
	ClusterName string `json:"clusterName,omitempty"`
	// Workers is how many gateways are worked on at a time.
	Workers int `json:"workers,omitempty"`
	// DriftInterval is between two looks at whether the clouds still hold what
	// was made.
	DriftInterval string `json:"driftInterval,omitempty"`
	// DrainTimeout is how long calls to clouds that are under way may take to end
	// when the manager is told to stop.
	DrainTimeout string   `json:"drainTimeout,omitempty"`
	Audit        Audit    `json:"audit,omitempty"`
	Services     Services `json:"services,omitempty"`
	// Providers are the settings of the process for each provider, by name.
	Providers map[string]json.RawMessage `json:"providers,omitempty"`
}

// Audit says where calls that change a cloud are written down.
type Audit struct {
	// Path of the file; empty is no audit log.
	Path string `json:"path,omitempty"`
	// MaxSizeMiB is when a new file is begun.
	MaxSizeMiB int `json:"maxSizeMiB,omitempty"`
	// Keep is how many files before the current one stay.
	Keep int `json:"keep,omitempty"`
}

// Services says how Services of type LoadBalancer are served.
type Services struct {
	// DefaultProvider serves those without a loadBalancerClass; empty leaves them
	// to others.
	DefaultProvider string `json:"defaultProvider,omitempty"`
	// Parameters are the GatewayParameters that hold for a provider's Services.
	Parameters map[string]ObjectName `json:"parameters,omitempty"`
}

// ObjectName names an object of a known kind.
type ObjectName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Defaults is the configuration that holds where nothing is said.
func Defaults() Configuration {
	return Configuration{
		APIVersion: ConfigAPIVersion, Kind: ConfigKind,
		Workers: 4, DriftInterval: "5m", DrainTimeout: "20s",
		Audit: Audit{MaxSizeMiB: 100, Keep: 5},
	}
}

// decode reads YAML or JSON over c. What the type does not have is refused: a
// setting with a typo would silently be none.
func (c *Configuration) decode(text []byte) error {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	var of struct{ APIVersion, Kind string }
	if err := json.Unmarshal(raw, &of); err != nil {
		return fmt.Errorf("it is no object with apiVersion %s and kind %s: %w", ConfigAPIVersion, ConfigKind, err)
	}
	if of.APIVersion != ConfigAPIVersion {
		return fmt.Errorf("apiVersion: %q is not known: want %s", of.APIVersion, ConfigAPIVersion)
	}
	if of.Kind != ConfigKind {
		return fmt.Errorf("kind: %q is not known: want %s", of.Kind, ConfigKind)
	}
	return decodeStrict(raw, c)
}

func decodeStrict(raw []byte, into any) error {
	mistakes, err := strict.UnmarshalStrict(raw, into)
	return errors.Join(append(mistakes, err)...)
}

// settings are a configuration that was found right.
type settings struct {
	Configuration
	drift, drain time.Duration
}

// mistakes are errors that each name a field.
type mistakes []error

func (m *mistakes) add(field, format string, args ...any) {
	*m = append(*m, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
}

func (m *mistakes) provider(field, name string, known []string) {
	if !slices.Contains(known, name) {
		m.add(field, "%q is not one of this manager's providers: %s", name, strings.Join(known, ", "))
	}
}

func (m *mistakes) duration(field, value string) time.Duration {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		m.add(field, "%q is no duration above zero: want a number with its unit, such as 90s or 5m", value)
	}
	return d
}

// settings says everything that is wrong, or nothing is. known are the providers
// there are.
func (c Configuration) settings(known []string) (settings, error) {
	var m mistakes
	s := settings{Configuration: c}
	s.drift = m.duration("driftInterval (--gatehouse-drift-interval)", c.DriftInterval)
	s.drain = m.duration("drainTimeout (--gatehouse-drain-timeout)", c.DrainTimeout)
	if c.Workers < 1 {
		m.add("workers (--concurrent-gateway-syncs)", "%d is too few: want at least 1", c.Workers)
	}
	if c.Audit.MaxSizeMiB < 1 {
		m.add("audit.maxSizeMiB (--gatehouse-audit-log-max-size)", "%d is too small: want at least 1", c.Audit.MaxSizeMiB)
	}
	if c.Audit.Keep < 1 {
		m.add("audit.keep (--gatehouse-audit-log-keep)", "%d is too few: want at least 1", c.Audit.Keep)
	}
	if p := c.Services.DefaultProvider; p != "" {
		m.provider("services.defaultProvider (--gatehouse-service-default-provider)", p, known)
	}
	for _, p := range slices.Sorted(maps.Keys(c.Services.Parameters)) {
		m.provider("services.parameters", p, known)
		if at := c.Services.Parameters[p]; at.Namespace == "" || at.Name == "" {
			m.add("services.parameters."+p, "namespace %q and name %q do not name a GatewayParameters: both are needed", at.Namespace, at.Name)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(c.Providers)) {
		m.provider("providers", p, known)
	}
	return s, errors.Join(m...)
}
