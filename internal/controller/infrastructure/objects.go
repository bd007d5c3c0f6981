package infrastructure

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// digestKey is the annotation by which an object is known to be as it should be.
const digestKey = "gatehouse.dev/digest"

// Digest is that of what was last written to an object of a Gateway; "" is that it is
// none, or that somebody took it away.
func Digest(obj metav1.Object) string { return obj.GetAnnotations()[digestKey] }

// suffix ends the name of every Service of ours.
const suffix = "-gatehouse"

// Name is the name of a Gateway's Service. Names of up to 53 characters that are
// DNS labels are kept and get a suffix; others are cut and told apart by a hash.
func Name(gateway string) string {
	if len(gateway)+len(suffix) <= validation.DNS1035LabelMaxLength && len(validation.IsDNS1035Label(gateway)) == 0 {
		return gateway + suffix
	}
	return "g-" + hashed(strings.ReplaceAll(gateway, ".", "-"), gateway, validation.DNS1035LabelMaxLength-len("g-")-len(suffix)) + suffix
}

// Label is the value of the label gateway.networking.k8s.io/gateway-name: the
// Gateway's name, cut and told apart by a hash where a label cannot hold it. The
// whole name stands in the ownerReference.
func Label(gateway string) string {
	if len(gateway) <= validation.LabelValueMaxLength {
		return gateway
	}
	return hashed(gateway, gateway, validation.LabelValueMaxLength)
}

// hashed is the start of a text, and a hash of what it stands for, in a length.
func hashed(text, of string, length int) string {
	sum := sha256.Sum256([]byte(of))
	hash := "-" + hex.EncodeToString(sum[:5])
	if cut := length - len(hash); len(text) > cut {
		text = strings.TrimRight(text[:cut], "-.")
	}
	return text + hash
}

// content is what we say about one object, without its identity.
type content map[string]any

// keysOf are all objects that a Gateway may have.
func keysOf(gateway *gwv1.Gateway) []translate.Key {
	out := []translate.Key{{Kind: translate.KindService, Namespace: gateway.Namespace, Name: Name(gateway.Name)}}
	for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		out = append(out, sliceKey(gateway, family))
	}
	return out
}

func sliceKey(gateway *gwv1.Gateway, family discoveryv1.AddressType) translate.Key {
	return translate.Key{Kind: translate.KindEndpointSlice, Namespace: gateway.Namespace, Name: Name(gateway.Name) + "-" + strings.ToLower(string(family))}
}

// objectsOf are those that a Gateway should have.
func objectsOf(gateway *gwv1.Gateway, model lbmodel.Gateway, addresses []lbmodel.Address) map[translate.Key]content {
	ports := portsOf(model)
	spec, ips := map[string]any{"type": string(corev1.ServiceTypeClusterIP), "clusterIP": corev1.ClusterIPNone}, families(addresses)
	if host := hostname(addresses); host != "" && len(ips) == 0 {
		spec = map[string]any{"type": string(corev1.ServiceTypeExternalName), "externalName": host}
	}
	if len(ports) > 0 {
		spec["ports"] = ports
	}
	out := map[translate.Key]content{keysOf(gateway)[0]: {"metadata": metadata(gateway, model, nil), "spec": spec}}
	for family, endpoints := range ips {
		c := content{
			"metadata": metadata(gateway, model, map[string]string{
				discoveryv1.LabelServiceName: Name(gateway.Name), discoveryv1.LabelManagedBy: translate.SliceManager,
			}),
			"addressType": string(family), "endpoints": endpoints,
		}
		if len(ports) > 0 {
			c["ports"] = ports
		}
		out[sliceKey(gateway, family)] = c
	}
	for _, c := range out {
		c.sign()
	}
	return out
}

// metadata has what the Gateway asks for, below what we need ourselves.
func metadata(gateway *gwv1.Gateway, model lbmodel.Gateway, ours map[string]string) map[string]any {
	labels := maps.Clone(model.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, ours)
	labels[gwv1.GatewayNameLabelKey] = Label(gateway.Name)
	return map[string]any{
		"labels": asAny(labels), "annotations": asAny(model.Annotations),
		"ownerReferences": []any{map[string]any{
			"apiVersion": gwv1.GroupVersion.String(), "kind": translate.KindGateway, "name": gateway.Name, "uid": string(gateway.UID), "controller": true,
		}},
	}
}

func asAny(in map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		out[k] = v
	}
	return out
}

// portsOf are the listeners' ports, each once for a transport.
func portsOf(model lbmodel.Gateway) []any {
	type port struct {
		number   int32
		protocol corev1.Protocol
	}
	var all []port
	for _, l := range model.Listeners {
		p := port{l.Port, corev1.ProtocolTCP}
		if l.Protocol == lbmodel.ProtocolUDP {
			p.protocol = corev1.ProtocolUDP
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b port) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.protocol, b.protocol))
	})
	var out []any
	for _, p := range slices.Compact(all) {
		name := strings.ToLower(fmt.Sprintf("%s-%d", p.protocol, p.number))
		out = append(out, map[string]any{"name": name, "port": int64(p.number), "protocol": string(p.protocol)})
	}
	return out
}

// families are the addresses that an EndpointSlice may hold, by family.
func families(addresses []lbmodel.Address) map[discoveryv1.AddressType][]any {
	out := map[discoveryv1.AddressType][]any{}
	for _, a := range addresses {
		ip, err := netip.ParseAddr(a.Value)
		if err != nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() {
			continue
		}
		family := discoveryv1.AddressTypeIPv6
		if ip.Is4() {
			family = discoveryv1.AddressTypeIPv4
		}
		out[family] = append(out[family], map[string]any{"addresses": []any{ip.String()}, "conditions": map[string]any{"ready": true}})
	}
	return out
}

func hostname(addresses []lbmodel.Address) string {
	for _, a := range addresses {
		if a.Type == lbmodel.AddressHostname {
			return a.Value
		}
	}
	return ""
}

// sign writes down what the rest of it comes to.
func (c content) sign() {
	text, err := json.Marshal(c)
	if err != nil {
		panic("infrastructure: " + err.Error()) // never: it holds strings, numbers and booleans
	}
	sum := sha256.Sum256(text)
	c["metadata"].(map[string]any)["annotations"].(map[string]any)[digestKey] = hex.EncodeToString(sum[:16])
}
