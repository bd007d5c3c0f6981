package meshsync

// Namer is a Dialect of a mesh whose members are not named by the SPIFFE ID of
// their namespace and ServiceAccount.
type Namer interface {
	// Name is what a certificate of the mesh says of a gateway with this account.
	Name(Mesh, Account) (spiffeID string, dnsNames []string)
}

// NameOf is how a mesh names a gateway with an account:
// spiffe://<trust domain>/ns/<namespace>/sa/<name> unless the Dialect is a Namer.
func NameOf(d Dialect, m Mesh, a Account) (spiffeID string, dnsNames []string) {
	if n, ok := d.(Namer); ok {
		return n.Name(m, a)
	}
	return "spiffe://" + m.TrustDomain + "/ns/" + a.Namespace + "/sa/" + a.Name, nil
}
