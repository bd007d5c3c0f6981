package controller

import (
	"strings"
	"testing"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/kube"
	"gatehouse.dev/internal/translate"
)

// foreign has the object served by somebody else from now on.
func foreign(l *lifeWorld) {
	switch l.kind {
	case aGateway:
		l.spec(map[string]any{"gatewayClassName": "other"})
	default:
		l.spec(map[string]any{"loadBalancerClass": "example.org/other"})
	}
}

// unbalanced has the Service ask for no load balancer any more.
func unbalanced(l *lifeWorld) {
	l.spec(map[string]any{"type": "ClusterIP", "loadBalancerClass": nil})
}

// takenOver makes the class again, as somebody else's.
func takenOver(l *lifeWorld) {
	l.put(translate.KindGatewayClass, "", "edge", map[string]any{"metadata": map[string]any{"finalizers": nil}})
	l.remove(translate.KindGatewayClass, "", "edge")
	l.settle()
	var other kube.Object = class("edge", "example.org/other", "")
	l.create(translate.KindGatewayClass, other)
}

var policies = []v1alpha1.DeletionPolicy{v1alpha1.DeletionDelete, v1alpha1.DeletionRetain, v1alpha1.DeletionProtect}

// TestDeletionPolicies ends the life of whatever may have a load balancer, in every way
// and under every policy. Why this table: the policy must hold whichever way something
// goes and whoever keeps the object, over a restart, and when the cloud is searched for
// what nobody wants. Under Delete nothing may be left, and no finalizer.
func TestDeletionPolicies(t *testing.T) {
	services, all := []life{classed, unclassed}, []life{aGateway, classed, unclassed}
	tests := []struct {
		name string
		of   []life
		end  func(*lifeWorld)
		want [3]string // under Delete, Retain, Protect
	}{
		{"the object is deleted", all, (*lifeWorld).end, [3]string{"gone, empty", "gone, kept", "held, kept"}},
		{"its class is another controller's", []life{aGateway}, foreign, [3]string{"free, empty", "free, kept", "free, kept"}},
		{"its class is another controller's", services, foreign, [3]string{"free, empty", "free, kept", "held, kept"}},
		{"its class is made again by another controller", []life{aGateway}, takenOver, [3]string{"free, empty", "free, kept", "free, kept"}},
		{"it asks for no load balancer", services, unbalanced, [3]string{"free, empty", "free, kept", "held, kept"}},
		{"its parameters go", all, func(l *lifeWorld) { l.rule("") }, [3]string{"held, kept", "held, kept", "held, kept"}},
		{"its parameters go, and then it", all, func(l *lifeWorld) { l.rule(""); l.end() }, [3]string{"held, kept", "held, kept", "held, kept"}},
		{"its parameters go, and then its class", []life{aGateway}, func(l *lifeWorld) { l.rule(""); foreign(l) }, [3]string{"free, empty", "free, kept", "free, kept"}},
	}
	for _, tt := range tests {
		for _, kind := range tt.of {
			for i, policy := range policies {
				for _, down := range []string{"", ", while the manager is down"} {
					t.Run(tt.name+"/"+string(kind)+"/"+string(policy)+down, func(t *testing.T) {
						l := newLifeWorld(t, kind, policy)
						tt.end(l)
						if down == "" {
							l.settle()
							l.is("at once", tt.want[i])
							if strings.HasSuffix(tt.want[i], "kept") && !strings.HasPrefix(tt.name, "its parameters go") && !l.heard("stay", "not deleted") {
								t.Error("no event says what stays in the cloud")
							}
						}
						l.restart()
						l.settle()
						l.is("after a restart", tt.want[i])
						if err := l.collect(t.Context()); err != nil {
							t.Error(err)
						}
						l.settle()
						l.is("after a search for what nobody wants", tt.want[i])
					})
				}
			}
		}
	}
}

func (l *lifeWorld) is(when, want string) {
	l.Helper()
	if got := l.now(); got != want {
		l.Errorf("%s it is %q, want %q", when, got, want)
	}
}

// TestProtectedAndThen blocks a deletion and then changes the policy. Why this table: a
// person who has read why it is blocked must be able to go on, also with a manager that
// has only just started.
func TestProtectedAndThen(t *testing.T) {
	for _, kind := range []life{aGateway, classed, unclassed} {
		for policy, want := range map[v1alpha1.DeletionPolicy]string{v1alpha1.DeletionDelete: "gone, empty", v1alpha1.DeletionRetain: "gone, kept"} {
			for _, again := range []string{"", ", in a new process"} {
				t.Run(string(kind)+"/"+string(policy)+again, func(t *testing.T) {
					l := newLifeWorld(t, kind, v1alpha1.DeletionProtect)
					l.end()
					l.settle()
					if again != "" {
						l.restart()
						l.settle()
					}
					l.is("while it is protected", "held, kept")
					if !l.heard("DeletionBlocked") {
						t.Error("no event says that it is blocked")
					}
					if kind == unclassed && (l.refused == nil || !strings.Contains(l.refused.Error(), "GatewayParameters ops/p say deletion: Protect")) {
						t.Errorf("the service controller hears %v", l.refused)
					}
					l.rule(policy)
					l.is("when the policy lets it go", want)
					l.restart()
					if err := l.collect(t.Context()); err != nil {
						t.Error(err)
					}
					l.settle()
					l.is("after a search for what nobody wants", want)
				})
			}
		}
	}
}

// TestRetainedWhileItGoes: the policy becomes Retain when the deletion is under way and
// waits, so nothing was on record before. What is retained stays all the same.
func TestRetainedWhileItGoes(t *testing.T) {
	for _, kind := range []life{aGateway, classed, unclassed} {
		t.Run(string(kind), func(t *testing.T) {
			l := newLifeWorld(t, kind, v1alpha1.DeletionDelete)
			l.put(l.key().Kind, "apps", l.key().Name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"gatehouse.dev/paused": "true"}}})
			l.settle()
			l.end()
			l.settle()
			l.is("while it is paused", "held, kept")
			l.rule(v1alpha1.DeletionRetain)
			l.put(l.key().Kind, "apps", l.key().Name, map[string]any{"metadata": map[string]any{"annotations": nil}})
			l.settle()
			l.is("when it goes on", "gone, kept")
			l.restart()
			if err := l.collect(t.Context()); err != nil {
				t.Error(err)
			}
			l.settle()
			l.is("after a search for what nobody wants", "gone, kept")
		})
	}
}

// TestPausedType: a pause holds up the end of a load balancer that is not asked for any
// more, as it does that of one whose object goes.
func TestPausedType(t *testing.T) {
	for _, kind := range []life{classed, unclassed} {
		t.Run(string(kind), func(t *testing.T) {
			l := newLifeWorld(t, kind, v1alpha1.DeletionDelete)
			l.put(translate.KindService, "apps", "s", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"gatehouse.dev/paused": "true"}}})
			unbalanced(l)
			l.settle()
			l.is("while it is paused", "held, kept")
			l.put(translate.KindService, "apps", "s", map[string]any{"metadata": map[string]any{"annotations": nil}})
			l.settle()
			l.is("when it goes on", "free, empty")
		})
	}
}

// TestBackAndForth: a Service that gave its load balancer up under Retain and asks for
// one again gets the same, and what it is asked with next counts.
func TestBackAndForth(t *testing.T) {
	for _, kind := range []life{classed, unclassed} {
		t.Run(string(kind), func(t *testing.T) {
			l := newLifeWorld(t, kind, v1alpha1.DeletionRetain)
			unbalanced(l)
			l.settle()
			l.is("a ClusterIP", "free, kept")
			again := map[string]any{"type": "LoadBalancer"}
			if kind == classed {
				again["loadBalancerClass"] = "gatehouse.dev/fake"
			}
			l.spec(again)
			l.settle()
			l.is("again a LoadBalancer", "held, kept")
			l.rule(v1alpha1.DeletionDelete)
			l.end()
			l.settle()
			l.is("at its end", "gone, empty")
		})
	}
}

// TestClassIsAdded: the service controller gives up a Service that has got a class of
// ours. Its load balancer goes on, and is ours to keep from then on.
func TestClassIsAdded(t *testing.T) {
	for _, policy := range policies {
		t.Run(string(policy), func(t *testing.T) {
			l := newLifeWorld(t, unclassed, policy)
			l.spec(map[string]any{"loadBalancerClass": "gatehouse.dev/fake"})
			l.settle()
			l.is("with a class", "held, kept")
			if f := l.find(serviceKey).GetFinalizers(); len(f) != 1 || f[0] != translate.Finalizer {
				t.Errorf("finalizers %v, want ours alone; the service controller heard %v", f, l.refused)
			}
		})
	}
}
