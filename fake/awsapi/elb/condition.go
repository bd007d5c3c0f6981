package elb

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// The fields of conditions.
const (
	hostHeader  = "host-header"
	pathPattern = "path-pattern"
	httpHeader  = "http-header"
	httpMethod  = "http-request-method"
	queryString = "query-string"
	sourceIP    = "source-ip"
)

// conditions checks a rule's conditions, and gives them the form in which they
// are described.
func (s *Service) conditions(lb *lbRow, in []condition) ([]condition, error) {
	if len(in) == 0 {
		return nil, invalid("A condition must be specified")
	}
	out := slices.Clone(in)
	values, wildcards := 0, 0
	seen := map[string]bool{}
	for i := range out {
		c := &out[i]
		if lb.Type == network {
			if err := networkCondition(c); err != nil {
				return nil, err
			}
			continue
		}
		texts, err := c.spread()
		switch {
		case err != nil:
			return nil, err
		case seen[c.Field] && c.Field != httpHeader && c.Field != queryString:
			return nil, invalid("You can only specify one condition with field '%s'", c.Field)
		case s.Undocumented.ThreePerCondition && len(texts) > 3:
			return nil, invalid("A condition can only have '3' values")
		}
		seen[c.Field] = true
		values += len(texts)
		if c.Field == httpHeader && s.Undocumented.HeaderNameCounts {
			values++
		}
		wildcards += c.wildcards(texts)
	}
	switch {
	case values > s.limit(limitValues):
		return nil, invalid("A rule can only have '%d' condition values", s.limit(limitValues))
	case wildcards > s.limit(limitWildcards):
		return nil, invalid("A rule can only have '%d' condition wildcards", s.limit(limitWildcards))
	}
	return out, nil
}

// networkCondition is the only one that a Network Load Balancer's rule can have.
func networkCondition(c *condition) error {
	switch {
	case c.Field != sourceIP || c.SourceIpConfig == nil || len(c.SourceIpConfig.Values) > 0:
		return refuse("InvalidConfigurationRequest", "Rules of network load balancers support only a source-ip condition with an IP address type")
	case c.SourceIpConfig.IpAddressType != "ipv4" && c.SourceIpConfig.IpAddressType != "ipv6":
		return oneOf(c.SourceIpConfig.IpAddressType, "sourceIpConfig.ipAddressType", "ipv4", "ipv6")
	}
	return nil
}

// spread fills in both forms of a condition, the general Values and the field's own
// config, and returns its values.
func (c *condition) spread() ([]string, error) {
	switch c.Field {
	case hostHeader:
		return c.patterns(&c.HostHeaderConfig, checkHost)
	case pathPattern:
		return c.patterns(&c.PathPatternConfig, checkPath)
	case httpHeader:
		return c.header()
	case httpMethod:
		if c.HttpRequestMethodConfig == nil {
			return nil, invalid("A condition value must be specified")
		}
		return c.plain(c.HttpRequestMethodConfig.Values, checkMethod)
	case queryString:
		return c.query()
	case sourceIP:
		if c.SourceIpConfig == nil {
			return nil, invalid("A condition value must be specified")
		}
		return c.plain(c.SourceIpConfig.Values, checkCIDR)
	case "":
		return nil, missing("conditions.field")
	}
	return nil, invalid("Condition field '%s' must be one of '[%s]'", c.Field,
		strings.Join([]string{pathPattern, hostHeader, httpHeader, httpMethod, queryString, sourceIP}, ", "))
}

func (c *condition) patterns(own **patterns, check func(string) error) ([]string, error) {
	values, regex := c.Values, c.RegexValues
	if p := *own; p != nil {
		if len(values)+len(regex) > 0 && (!slices.Equal(values, p.Values) || !slices.Equal(regex, p.RegexValues)) {
			return nil, invalid("You cannot provide both Values and a configuration for a condition of type '%s'", c.Field)
		}
		values, regex = p.Values, p.RegexValues
	}
	all, err := either(values, regex, check)
	if err != nil {
		return nil, err
	}
	c.Values, c.RegexValues = values, regex
	*own = &patterns{Values: values, RegexValues: regex}
	return all, nil
}

func either(values, regex []string, check func(string) error) ([]string, error) {
	switch {
	case len(values)+len(regex) == 0:
		return nil, invalid("A condition value must be specified")
	case len(values) > 0 && len(regex) > 0:
		return nil, invalid("A condition can have either values or regular expressions, not both")
	}
	for _, v := range values {
		if err := check(v); err != nil {
			return nil, err
		}
	}
	for _, r := range regex {
		if err := checkRegex(r, 128); err != nil {
			return nil, err
		}
	}
	return append(slices.Clone(values), regex...), nil
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}$")

func (c *condition) header() ([]string, error) {
	h := c.HttpHeaderConfig
	switch {
	case h == nil:
		return nil, invalid("A condition value must be specified")
	case !headerName.MatchString(h.HttpHeaderName):
		return nil, invalid("The HTTP header name '%s' must be a token of at most '40' characters", h.HttpHeaderName)
	case strings.EqualFold(h.HttpHeaderName, "host"):
		return nil, invalid("The HTTP header name 'Host' is not valid: use a host-header condition")
	}
	return either(h.Values, h.RegexValues, checkValue)
}

func (c *condition) plain(values []string, check func(string) error) ([]string, error) {
	return either(values, nil, check)
}

func (c *condition) query() ([]string, error) {
	if c.QueryStringConfig == nil || len(c.QueryStringConfig.Values) == 0 {
		return nil, invalid("A condition value must be specified")
	}
	var out []string
	for _, pair := range c.QueryStringConfig.Values {
		if pair.Value == "" {
			return nil, missing("queryStringConfig.values.value")
		}
		if err := checkValue(pair.Key); err != nil {
			return nil, err
		}
		if err := checkValue(pair.Value); err != nil {
			return nil, err
		}
		out = append(out, pair.Key+"="+pair.Value)
	}
	return out, nil
}

// wildcards counts them. A backslash takes a wildcard's meaning in query strings.
func (c *condition) wildcards(texts []string) int {
	if len(c.RegexValues) > 0 || c.HttpHeaderConfig != nil && len(c.HttpHeaderConfig.RegexValues) > 0 || c.Field == httpMethod || c.Field == sourceIP {
		return 0
	}
	n := 0
	for _, text := range texts {
		if c.Field == queryString {
			text = strings.NewReplacer(`\*`, "", `\?`, "").Replace(text)
		}
		n += strings.Count(text, "*") + strings.Count(text, "?")
	}
	return n
}

var (
	hostChars   = regexp.MustCompile(`^[A-Za-z0-9.*?-]+$`)
	pathChars   = regexp.MustCompile("^[A-Za-z0-9_.$/~\"'@:+&*?-]+$")
	methodChars = regexp.MustCompile(`^[A-Z_-]+$`)
	lastLabel   = regexp.MustCompile(`\.[A-Za-z*?]+$`)
)

func checkValue(v string) error {
	if len(v) > 128 {
		return invalid("The value '%s' is too long; the limit is '128'", v)
	}
	for _, c := range v {
		if c < 0x20 || c > 0x7e {
			return invalid("The condition value '%s' contains a character that is not valid", v)
		}
	}
	return nil
}

func checkHost(v string) error {
	switch {
	case len(v) > 128:
		return invalid("The 'host-header' value is too long; the limit is '128'")
	case v == "*":
		return nil
	case !hostChars.MatchString(v):
		return invalid("The host name '%s' contains a character that is not valid", v)
	case !lastLabel.MatchString(v):
		return invalid("The host name '%s' must have a '.', and only alphabetical characters after the last one", v)
	}
	return nil
}

func checkPath(v string) error {
	switch {
	case v == "":
		return invalid("A condition value must be specified")
	case len(v) > 128:
		return invalid("The 'path-pattern' value is too long; the limit is '128'")
	case !pathChars.MatchString(v):
		return invalid("The path pattern '%s' contains a character that is not valid", v)
	}
	return nil
}

func checkMethod(v string) error {
	switch {
	case len(v) > 40:
		return invalid("The 'http-request-method' value is too long; the limit is '40'")
	case !methodChars.MatchString(v):
		return invalid("The 'http-request-method' value is invalid; the allowed characters are A-Z, hyphen and underscore")
	}
	return nil
}

func checkCIDR(v string) error {
	prefix, err := netip.ParsePrefix(v)
	if err != nil || v == "255.255.255.255/32" || prefix.Masked() != prefix {
		return invalid("The source IP '%s' must be a valid CIDR block", v)
	}
	return nil
}

var refusedRegex = regexp.MustCompile(`\(\?[=!<>]|\\[1-9]|\\[pP]|[*+?}]\+`)

// checkRegex refuses what AWS lists as unsupported, and what no engine takes.
func checkRegex(v string, most int) error {
	if v == "" || len(v) > most {
		return invalid("The regular expression '%s' cannot be longer than '%d' characters", v, most)
	}
	_, err := regexp.Compile(v)
	if err != nil || refusedRegex.MatchString(strings.ReplaceAll(v, `\\`, "")) {
		return invalid("The regular expression '%s' is not valid", v)
	}
	return nil
}

// checkTransforms keeps the rules of rewrites.
func checkTransforms(lb *lbRow, in []transform) ([]transform, error) {
	if lb.Type != application {
		return nil, refuse("InvalidConfigurationRequest", "Transforms are only supported for application load balancers")
	}
	seen := map[string]bool{}
	for _, t := range in {
		configs := map[string]*rewrites{"host-header-rewrite": t.HostHeaderRewriteConfig, "url-rewrite": t.UrlRewriteConfig}
		config, known := configs[t.Type]
		switch {
		case !known:
			return nil, oneOf(t.Type, "transforms.type", "host-header-rewrite", "url-rewrite")
		case seen[t.Type]:
			return nil, invalid("You can only specify one transform of type '%s'", t.Type)
		case config == nil || len(config.Rewrites) != 1:
			return nil, invalid("A transform of type '%s' must have exactly one rewrite", t.Type)
		case t.HostHeaderRewriteConfig != nil && t.UrlRewriteConfig != nil:
			return nil, invalid("A transform can only have the configuration of its type")
		case len(config.Rewrites[0].Replace) > 1024:
			return nil, invalid("The replacement cannot be longer than '1024' characters")
		}
		if err := checkRegex(config.Rewrites[0].Regex, 1024); err != nil {
			return nil, err
		}
		seen[t.Type] = true
	}
	return in, nil
}
