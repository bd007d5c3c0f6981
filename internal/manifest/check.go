package manifest

import (
	"fmt"
	"net/netip"
	"strings"

	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The checks of built-in kinds are those of the API server that translation
// relies upon. The rest (a Pod's volumes, say) is none of a gateway's business.

const (
	maxEndpoints = 1000 // of an EndpointSlice
	maxAddresses = 100  // of an endpoint
)

var (
	protocols     = []string{string(corev1.ProtocolTCP), string(corev1.ProtocolUDP), string(corev1.ProtocolSCTP)}
	serviceTypes  = []string{string(corev1.ServiceTypeClusterIP), string(corev1.ServiceTypeNodePort), string(corev1.ServiceTypeLoadBalancer), string(corev1.ServiceTypeExternalName)}
	affinities    = []string{string(corev1.ServiceAffinityNone), string(corev1.ServiceAffinityClientIP)}
	addressTypes  = []string{string(discoveryv1.AddressTypeIPv4), string(discoveryv1.AddressTypeIPv6), string(discoveryv1.AddressTypeFQDN)}
	specPath      = field.NewPath("spec")
	portsPath     = field.NewPath("ports")
	endpointsPath = field.NewPath("endpoints")
)

func checkService(s *corev1.Service) field.ErrorList {
	errs := oneOf(specPath.Child("type"), string(s.Spec.Type), serviceTypes)
	errs = append(errs, oneOf(specPath.Child("sessionAffinity"), string(s.Spec.SessionAffinity), affinities)...)
	external := s.Spec.Type == corev1.ServiceTypeExternalName
	switch {
	case external && s.Spec.ExternalName == "":
		errs = append(errs, field.Required(specPath.Child("externalName"), "an ExternalName Service names a host"))
	case !external && s.Spec.ClusterIP != corev1.ClusterIPNone && len(s.Spec.Ports) == 0:
		errs = append(errs, field.Required(specPath.Child("ports"), "a Service has at least one port"))
	}
	return append(errs, checkServicePorts(s.Spec.Ports)...)
}

func checkServicePorts(ports []corev1.ServicePort) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	numbers := map[string]bool{}
	for i, port := range ports {
		at := specPath.Child("ports").Index(i)
		errs = append(errs, portNumber(at.Child("port"), port.Port)...)
		errs = append(errs, oneOf(at.Child("protocol"), string(port.Protocol), protocols)...)
		errs = append(errs, targetPort(at.Child("targetPort"), port)...)
		switch number := fmt.Sprint(port.Protocol, port.Port); {
		case port.Name == "" && len(ports) > 1:
			errs = append(errs, field.Required(at.Child("name"), "each of several ports has a name"))
		case names[port.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
		case numbers[number]:
			errs = append(errs, field.Duplicate(at.Child("port"), port.Port))
		default:
			names[port.Name], numbers[number] = true, true
		}
	}
	return errs
}

func targetPort(at *field.Path, port corev1.ServicePort) field.ErrorList {
	switch target := port.TargetPort; {
	case target.Type == intstr.String:
		return invalid(at, target.StrVal, validation.IsValidPortName(target.StrVal))
	case target.IntVal == port.Port:
		return nil // the default, and port itself is checked
	default:
		return portNumber(at, target.IntVal)
	}
}

func checkEndpointSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	if s.AddressType == "" {
		return field.ErrorList{field.Required(field.NewPath("addressType"), "one of "+strings.Join(addressTypes, ", "))}
	}
	errs := oneOf(field.NewPath("addressType"), string(s.AddressType), addressTypes)
	if n := len(s.Endpoints); n > maxEndpoints {
		errs = append(errs, field.Invalid(endpointsPath, "", fmt.Sprintf("a slice has at most %d endpoints, not %d: make several", maxEndpoints, n)))
	}
	for i, e := range s.Endpoints {
		errs = append(errs, checkAddresses(endpointsPath.Index(i).Child("addresses"), e.Addresses, s.AddressType)...)
	}
	for i, port := range s.Ports {
		at := portsPath.Index(i)
		errs = append(errs, oneOf(at.Child("protocol"), string(*port.Protocol), protocols)...)
		if port.Port != nil {
			errs = append(errs, portNumber(at.Child("port"), *port.Port)...)
		}
	}
	return errs
}

func checkAddresses(at *field.Path, addresses []string, kind discoveryv1.AddressType) field.ErrorList {
	if n := len(addresses); n == 0 || n > maxAddresses {
		return field.ErrorList{field.Invalid(at, "", fmt.Sprintf("an endpoint has 1 to %d addresses, not %d", maxAddresses, n))}
	}
	var errs field.ErrorList
	for i, text := range addresses {
		address, err := netip.ParseAddr(text)
		switch {
		case kind == discoveryv1.AddressTypeFQDN:
			errs = append(errs, invalid(at.Index(i), text, validation.IsDNS1123Subdomain(text))...)
		case err != nil || address.Zone() != "":
			errs = append(errs, field.Invalid(at.Index(i), text, "is not an IP address"))
		case address.Is4() != (kind == discoveryv1.AddressTypeIPv4):
			errs = append(errs, field.Invalid(at.Index(i), text, "is not of the slice's addressType "+string(kind)))
		}
	}
	return errs
}

func checkPod(p *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	for i, ip := range p.Status.PodIPs {
		if _, err := netip.ParseAddr(ip.IP); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("status", "podIPs").Index(i).Child("ip"), ip.IP, "is not an IP address"))
		}
	}
	return errs
}

func checkConfigMap(c *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	for key := range c.Data {
		errs = append(errs, invalid(field.NewPath("data").Key(key), key, validation.IsConfigMapKey(key))...)
		if _, twice := c.BinaryData[key]; twice {
			errs = append(errs, field.Invalid(field.NewPath("binaryData").Key(key), key, "is in data too"))
		}
	}
	for key := range c.BinaryData {
		errs = append(errs, invalid(field.NewPath("binaryData").Key(key), key, validation.IsConfigMapKey(key))...)
	}
	return errs
}

// checkSecret names no entry: what was meant as a value may stand in a key's
// place.
func checkSecret(s *corev1.Secret) field.ErrorList {
	for key := range s.Data {
		if len(validation.IsConfigMapKey(key)) > 0 {
			return field.ErrorList{field.Invalid(field.NewPath("data"), "", "a key of it is not made of letters, digits, '-', '_' and '.'")}
		}
	}
	return nil
}

// checkTrustBundle keeps the rule that a signer's bundle is named after it.
func checkTrustBundle(b *certv1.ClusterTrustBundle) field.ErrorList {
	prefix := strings.ReplaceAll(b.Spec.SignerName, "/", ":") + ":"
	switch {
	case b.Spec.TrustBundle == "":
		return field.ErrorList{field.Required(specPath.Child("trustBundle"), "PEM certificates")}
	case b.Spec.SignerName != "" && !strings.HasPrefix(b.Name, prefix):
		return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), b.Name, "must begin with "+prefix+", for spec.signerName is set")}
	default:
		return nil
	}
}

// pathSegment is the weakest rule for names: they are part of a URL.
func pathSegment(name string, _ bool) []string {
	if name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return []string{"may not be . or .., nor contain / or %"}
	}
	return nil
}

func oneOf(at *field.Path, value string, allowed []string) field.ErrorList {
	for _, a := range allowed {
		if a == value {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(at, value, allowed)}
}

func portNumber(at *field.Path, port int32) field.ErrorList {
	return invalid(at, port, validation.IsValidPortNum(int(port)))
}

func invalid(at *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, m := range messages {
		errs = append(errs, field.Invalid(at, value, m))
	}
	return errs
}
