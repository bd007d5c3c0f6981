package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/lbmodel"
)

// hindered is what Programmed says when it cannot be told from the cloud: that is no
// news for what is programmed, and the reason for what is not. have is what it says
// already of this generation; the same trouble told in other words is no news.
func (v *gatewayView) hindered(have verdict) (verdict, bool) {
	err := v.outcome.Unseen
	if err == nil && (v.result.Deleting || have == verdict{}) {
		err = v.silence()
	}
	if err == nil || have.status == metav1.ConditionTrue && !v.result.Deleting {
		return verdict{}, false
	}
	doing := "programmed"
	if v.result.Deleting {
		doing = "deleted"
	}
	message := fmt.Sprintf("it cannot be %s now (%s), and is tried again: ", doing, lbmodel.CodeOf(err))
	if have.reason == reasonPending && strings.HasPrefix(have.message, message) {
		return have, true
	}
	return no(reasonPending, message+err.Error()), true
}

// silence is a failure for want of any answer of the cloud.
func (v *gatewayView) silence() error {
	for _, s := range slices.SortedFunc(maps.Keys(v.outcome.Failed), func(a, b lbmodel.Source) int { return strings.Compare(a.String(), b.String()) }) {
		if err := v.outcome.Failed[s]; lbmodel.CodeOf(err) == lbmodel.CodeUnavailable {
			return err
		}
	}
	return nil
}
