package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/internal/member"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/probe"
	"gatehouse.dev/providers"
)

const (
	lookAgain = 30 * time.Second // at what fails
	lookLater = 10 * time.Minute // at what is well
)

// newMembers are those who dial, and who issue what takes no cluster: a SPIFFE agent is
// asked, and Consul. Files have no tokens of ServiceAccounts, so other meshes issue
// nothing here: who shows a certificate has it from a Secret.
func (s *server) newMembers() *member.Members {
	m := member.New(member.Config{
		Tokens: func(_ context.Context, _ string, a meshsync.Account) (string, error) {
			return "", lbmodel.Errorf(lbmodel.CodeUnsupported, "CreateToken", lbmodel.ID{}, "files have no tokens of ServiceAccounts, as %s/%s", a.Namespace, a.Name)
		},
		Around: member.Around{Socket: s.env.Getenv("SPIFFE_ENDPOINT_SOCKET"), Secret: s.aclToken},
		Pace:   probe.Pace{Fresh: lookLater, Again: lookAgain},
	})
	answer := providers.Keyring(m.Keyring(s.engine.keys.files))
	s.engine.keys.mesh.Store(&answer)
	m.Over(s.engine.loop)
	return m
}

// issues says whether an identity is one that members are issued here.
func (s *server) issues(id lbmodel.Identity) bool {
	b, ok := s.engine.loop.Index().Bound(strings.TrimPrefix(id.Issuer, translate.KindMeshBinding+"/"))
	return ok && member.Alone(b.Binding)
}

// look dials what MeshBindings want to be dialled (spec.probe), waits for it, and takes
// what was seen. It returns the gateways to plan, those among them to which it is news,
// and the policies that follow.
func (s *server) look(ctx context.Context, keys []translate.Key) ([]translate.Key, []lbmodel.Policy) {
	if s.members == nil {
		s.members = s.newMembers()
	}
	s.members.WatchAll()
	askers := s.members.Probes.Askers()
	for more := true; more; {
		_, more = s.members.Probes.Work(ctx)
	}
	for _, key := range s.engine.loop.Change(s.members.Seen()) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	s.tellFindings()
	if len(askers) == 0 {
		return keys, nil
	}
	again := lookLater
	for _, asker := range askers {
		for _, sight := range s.members.Probes.Sights(asker) {
			if !sight.Known || len(sight.Failed) > 0 {
				again = lookAgain
			}
		}
	}
	s.due.by(time.Now().Add(again))
	return keys, []lbmodel.Policy{s.members.Gate(s.engine.loop.Gateways()...)}
}
