package elb

import (
	"slices"

	"gatehouse.dev/fake/awsapi/account"
)

func (s *Service) describeListenerCertificates(call *account.Call, in *describeListenerCertificates) (any, error) {
	row, err := s.view(call).listener(in.ListenerArn)
	if err != nil {
		return nil, err
	}
	var all []certificate
	for _, c := range row.Certificates {
		all = append(all, certificate{c.CertificateArn, new(true)})
	}
	for _, arn := range row.Extra {
		all = append(all, certificate{arn, new(false)})
	}
	out, next, err := page(all, in.Marker, in.PageSize)
	return certificatesOut{out, next}, err
}

func (s *Service) addListenerCertificates(call *account.Call, in *listenerCertificates) (any, error) {
	var out certificatesOut
	err := s.certificates(call, in, func(next *listenerRow, lb *lbRow, arn string) error {
		if err := s.certificateExists(arn); err != nil {
			return err
		}
		out.Certificates = []certificate{{arn, new(false)}}
		if slices.Contains(next.Extra, arn) || next.Certificates[0].CertificateArn == arn {
			return nil // as documented: it succeeds
		}
		name := map[string]string{application: limitALBCertificates, network: limitNLBCertificates}[lb.Type]
		if err := s.full(name, s.extra(lb.LoadBalancerArn), "TooManyCertificates", "The maximum number of certificates has been reached on load balancer '%s'", lb.LoadBalancerArn); err != nil {
			return err
		}
		next.Extra = append(slices.Clone(next.Extra), arn)
		return nil
	})
	return out, err
}

// extra counts the certificates of a load balancer, the default ones left out.
func (s *Service) extra(lb string) int {
	now, out := s.past.Now(), 0
	for _, l := range now.listenersOf(lb) {
		out += len(l.Extra)
	}
	return out
}

func (s *Service) removeListenerCertificates(call *account.Call, in *listenerCertificates) (any, error) {
	return nothing{}, s.certificates(call, in, func(next *listenerRow, _ *lbRow, arn string) error {
		if next.Certificates[0].CertificateArn == arn {
			return refuse("OperationNotPermitted", "Default certificate '%s' cannot be removed from listener '%s'", arn, in.ListenerArn)
		}
		next.Extra = slices.DeleteFunc(slices.Clone(next.Extra), func(has string) bool { return has == arn })
		return nil
	})
}

// certificates changes the one certificate that a call names.
func (s *Service) certificates(call *account.Call, in *listenerCertificates, do func(*listenerRow, *lbRow, string) error) error {
	return s.change(call, func(now *state) error {
		old, lb, err := s.writable(call, now, in.ListenerArn)
		switch {
		case err != nil:
			return err
		case !secure(old.Protocol):
			return refuse("InvalidConfigurationRequest", "Certificates cannot be specified for %s listeners", old.Protocol)
		case len(in.Certificates) != 1:
			return refuse("TooManyCertificates", "Up to '1' certificate can be specified, but '%d' were specified", len(in.Certificates))
		case in.Certificates[0].IsDefault != nil:
			return invalid("You cannot set the isDefault field of a listener certificate")
		}
		next := *old
		if err := do(&next, lb, in.Certificates[0].CertificateArn); err != nil {
			return err
		}
		now.Listeners.Put(in.ListenerArn, next)
		return nil
	})
}

// UsesCertificate are the load balancers that a certificate serves.
func (s *Service) UsesCertificate(arn string) []string {
	now := s.past.Now()
	var out []string
	for _, l := range now.Listeners.All(nil) {
		uses := slices.Contains(l.Extra, arn) || len(l.Certificates) > 0 && l.Certificates[0].CertificateArn == arn
		if uses && !slices.Contains(out, l.LoadBalancerArn) {
			out = append(out, l.LoadBalancerArn)
		}
	}
	return out
}
