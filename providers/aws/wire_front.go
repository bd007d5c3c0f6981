package aws

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// The modes of verifying clients [API_MutualAuthenticationAttributes].
const (
	mutualOff    = "off"
	mutualVerify = "verify"
)

// unspoken is what of a load balancer AWS has no field for. It is kept in its tags.
type unspoken struct {
	SubnetTags map[string]string `json:"subnetTags,omitempty"` // how its subnets were found
	Labels     []string          `json:"labels,omitempty"`     // tags that were asked for, by key
	Attributes []string          `json:"attributes,omitempty"` // that were set and of which no default is known, by key
	Inner      bool              `json:"inner,omitzero"`       // it stands behind another one
}

func (l *LoadBalancer) unspoken() unspoken {
	return unspoken{SubnetTags: l.SubnetTags, Labels: sortedKeys(l.Labels), Attributes: withoutDefault(l.Attributes, lbDefaults(l.Type)), Inner: l.Inner}
}

// tags are all that a load balancer gets.
func (l *LoadBalancer) tags(ours tags) tags {
	out := tags{}
	for key, value := range l.Labels {
		out[key] = value
	}
	for key, value := range ours {
		out[key] = value
	}
	out.pack(l.unspoken())
	return out
}

// specBalancer reads a load balancer, its attributes and its tags.
func specBalancer(lb *types.LoadBalancer, attributes map[string]string, t tags, ref refOf) *LoadBalancer {
	var u unspoken
	t.unpack(&u)
	out := &LoadBalancer{
		Type: string(lb.Type), Scheme: string(lb.Scheme), VPC: aws.ToString(lb.VpcId), IPAddressType: string(lb.IpAddressType),
		SubnetTags: u.SubnetTags, Attributes: stated(attributes, lbDefaults(string(lb.Type)), u.Attributes), Inner: u.Inner,
	}
	for _, z := range lb.AvailabilityZones {
		out.Subnets = append(out.Subnets, aws.ToString(z.SubnetId))
	}
	slices.Sort(out.Subnets)
	for _, id := range sorted(lb.SecurityGroups) {
		if r := ref(KindSecurityGroup, id); r != "" {
			out.SecurityGroups = append(out.SecurityGroups, r)
		} else {
			out.ForeignGroups = append(out.ForeignGroups, id)
		}
	}
	slices.Sort(out.SecurityGroups)
	others := t.others()
	for _, key := range u.Labels {
		if value, ok := others[key]; ok {
			out.Labels = put(out.Labels, key, value)
		}
	}
	return out
}

func put(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// sdkListener is a listener as AWS makes one.
func sdkListener(l *Listener, arn arnOf, t tags) (*elb.CreateListenerInput, error) {
	balancer, err := arn(l.LoadBalancer)
	if err != nil {
		return nil, err
	}
	m, err := sdkListenerChange(l, arn)
	if err != nil {
		return nil, err
	}
	out := &elb.CreateListenerInput{
		LoadBalancerArn: &balancer, Port: &l.Port, Protocol: m.Protocol, Tags: t.elb(), DefaultActions: m.DefaultActions,
		SslPolicy: m.SslPolicy, Certificates: m.Certificates,
	}
	if l.TrustStore != "" {
		out.MutualAuthentication = m.MutualAuthentication
	}
	return out, nil
}

// sdkListenerChange is all that can be changed of it.
func sdkListenerChange(l *Listener, arn arnOf) (*elb.ModifyListenerInput, error) {
	actions, err := sdkActions(&l.Default, arn)
	if err != nil {
		return nil, err
	}
	out := &elb.ModifyListenerInput{Port: &l.Port, Protocol: types.ProtocolEnum(l.Protocol), DefaultActions: actions}
	if l.TLSPolicy != "" {
		out.SslPolicy = &l.TLSPolicy
		out.MutualAuthentication = &types.MutualAuthenticationAttributes{Mode: aws.String(mutualOff)}
	}
	if l.Certificate != "" {
		certificate, err := arn(l.Certificate)
		if err != nil {
			return nil, err
		}
		out.Certificates = []types.Certificate{{CertificateArn: &certificate}}
	}
	if l.TrustStore != "" {
		store, err := arn(l.TrustStore)
		if err != nil {
			return nil, err
		}
		out.MutualAuthentication = &types.MutualAuthenticationAttributes{Mode: aws.String(mutualVerify), TrustStoreArn: &store}
	}
	return out, nil
}

// specListener reads a listener.
func specListener(l *types.Listener, ref refOf) *Listener {
	out := &Listener{
		LoadBalancer: ref(KindLoadBalancer, aws.ToString(l.LoadBalancerArn)), Port: aws.ToInt32(l.Port), Protocol: string(l.Protocol),
		TLSPolicy: aws.ToString(l.SslPolicy), Default: specAction(l.DefaultActions, ref),
	}
	if len(l.Certificates) > 0 {
		out.Certificate = ref(KindCertificate, aws.ToString(l.Certificates[0].CertificateArn))
	}
	m := l.MutualAuthentication
	switch {
	case m == nil || cmp.Or(aws.ToString(m.Mode), mutualOff) == mutualOff:
	case aws.ToString(m.Mode) == mutualVerify && !aws.ToBool(m.IgnoreClientCertificateExpiry):
		out.TrustStore = ref(KindTrustStore, aws.ToString(m.TrustStoreArn))
	default:
		out.TrustStore = Ref("another way: " + aws.ToString(m.Mode)) // nobody wants it, so it is put right
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}
