package gcp

import (
	"reflect"

	"gatehouse.dev/lbmodel"
)

// Hop implements lbmodel.Securing.
func (b *BackendService) Hop() string { return b.hop }

// Secures implements lbmodel.Securing.
func (b *BackendService) Secures(have lbmodel.Spec) bool {
	old, ok := have.(*BackendService)
	return b.speaksTLS() && (!ok || !old.speaksTLS() || !reflect.DeepEqual(b.TLSSettings, old.TLSSettings))
}

func (b *BackendService) speaksTLS() bool {
	return b.Protocol == protocolHTTPS || b.Protocol == protocolHTTP2
}

// Protection implements lbmodel.Protected.
func (b *BackendService) Protection() lbmodel.TLSLevel {
	switch {
	case !b.speaksTLS():
		return lbmodel.TLSNone
	case b.TLSSettings == nil || b.TLSSettings.AuthenticationConfig == "":
		return lbmodel.TLSUnverified
	case b.presents:
		return lbmodel.TLSClientAndServer
	default:
		return lbmodel.TLSServerOnly
	}
}

// Impact implements lbmodel.Explained: backends that are reached with mutual TLS are
// not reached with less unless somebody agrees.
func (b *BackendService) Impact(verb lbmodel.Verb, have lbmodel.Spec) string {
	there, ok := have.(*BackendService)
	if verb != lbmodel.Update || !ok {
		return ""
	}
	return lbmodel.Downgrade(there.Protection(), b.Protection())
}

// Presents implements lbmodel.Presenting: what is shown to backends, and not what is
// served to clients.
func (c *Certificate) Presents() string {
	if c.Scope != scopeClientAuth {
		return ""
	}
	return c.Identity.Name
}
