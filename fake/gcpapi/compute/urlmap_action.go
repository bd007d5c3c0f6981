package compute

import (
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

// checkAction looks at a route action.
func checkAction(at string, value any) error {
	action, ok := value.(store.Object)
	if !ok {
		return nil
	}
	if err := checkWeights(at, action); err != nil {
		return err
	}
	rewrite, _ := action["urlRewrite"].(store.Object)
	if rewrite["pathPrefixRewrite"] != nil && rewrite["pathTemplateRewrite"] != nil {
		return store.BadField(at+".urlRewrite", "", "Only one of pathPrefixRewrite and pathTemplateRewrite can be specified.")
	}
	if mirror, ok := action["requestMirrorPolicy"].(store.Object); ok {
		percent, set := mirror["mirrorPercent"].(float64)
		if store.Text(mirror, "backendService") == "" {
			return required("resource." + at + ".requestMirrorPolicy.backendService")
		}
		if set && (percent < 0 || percent > 100) {
			return store.BadField(at+".requestMirrorPolicy.mirrorPercent", percent, "Must be between 0 and 100.")
		}
	}
	return checkRetry(at, action)
}

func checkWeights(at string, action store.Object) error {
	sum, list := 0.0, store.List(action, "weightedBackendServices")
	for i, w := range list {
		one, _ := w.(store.Object)
		weight, _ := one["weight"].(float64)
		here := at + ".weightedBackendServices[" + number(i) + "]"
		switch {
		case store.Text(one, "backendService") == "":
			return required("resource." + here + ".backendService")
		case weight < 0 || weight > 1000:
			return store.BadField(here+".weight", weight, "Must be between 0 and 1000.")
		}
		sum += weight
	}
	if len(list) > 0 && sum == 0 {
		return store.BadField(at+".weightedBackendServices", "", "The sum of all weights must not be 0.")
	}
	return nil
}

// conditions are the retry conditions that a URL map can name.
var conditions = "5xx gateway-error connect-failure retriable-4xx refused-stream cancelled deadline-exceeded internal resource-exhausted unavailable"

func checkRetry(at string, action store.Object) error {
	retry, ok := action["retryPolicy"].(store.Object)
	if !ok {
		return nil
	}
	if n, set := retry["numRetries"].(float64); set && n < 1 {
		return store.BadField(at+".retryPolicy.numRetries", n, "Must be greater than 0.")
	}
	for _, c := range store.List(retry, "retryConditions") {
		if text, _ := c.(string); !strings.Contains(" "+conditions+" ", " "+text+" ") {
			return store.BadField(at+".retryPolicy.retryConditions", c, "Must be one of: %s.", strings.ReplaceAll(conditions, " ", ", "))
		}
	}
	return nil
}

func checkRedirect(at string, value any) error {
	redirect, ok := value.(store.Object)
	if !ok {
		return nil
	}
	path, prefix := store.Text(redirect, "pathRedirect"), store.Text(redirect, "prefixRedirect")
	switch {
	case path != "" && prefix != "":
		return store.BadField(at, "", "Only one of pathRedirect and prefixRedirect can be specified.")
	case path != "" && path[0] != '/':
		return store.BadField(at+".pathRedirect", path, "Must begin with /.")
	case len(store.Text(redirect, "hostRedirect")) > 255:
		return store.BadField(at+".hostRedirect", redirect["hostRedirect"], "Must be between 1 and 255 characters.")
	}
	return nil
}
