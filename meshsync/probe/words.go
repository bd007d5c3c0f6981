package probe

// Words say an outcome to a person who did not ask for details.
func (o Outcome) Words() string {
	switch o {
	case OK:
		return "all is well"
	case Unreachable:
		return "unreachable"
	case Silent, Reset, ClearText:
		return "no TLS"
	case Chain:
		return "wrong CA"
	case Expired:
		return "expired certificate"
	case Name:
		return "wrong SAN"
	case ALPN:
		return "no common protocol"
	case Version:
		return "no common TLS version"
	case ServerName:
		return "unknown server name"
	case ClientCertificate:
		return "client certificate refused"
	default:
		return "handshake refused"
	}
}

// Text is the outcome with its detail.
func (r Result) Text() string {
	if r.Detail == "" {
		return r.Outcome.Words()
	}
	return r.Outcome.Words() + ": " + r.Detail
}

// Ours says whether a failure may follow from what is shown and asked for, and not
// from the state of the pod alone: another root, name or certificate could mend it, or
// have caused it.
func (o Outcome) Ours() bool {
	switch o {
	case Chain, Name, ALPN, Version, ServerName, ClientCertificate, Refused:
		return true
	default:
		return false
	}
}
