package elb

import (
	"errors"
	"net/http"

	"gatehouse.dev/fake/awsapi/wire"
)

// refuse makes an error with the status that goes with its code.
func refuse(code, format string, args ...any) *wire.Error {
	out := wire.Refuse(code, format, args...)
	switch code {
	case "HealthUnavailable", "InsufficientCapacity":
		out.Status = http.StatusInternalServerError
	case "PriorRequestNotComplete":
		out.Status = http.StatusTooManyRequests
	}
	return out
}

// invalid is how most of what can't be is refused.
func invalid(format string, args ...any) *wire.Error {
	return refuse("ValidationError", format, args...)
}

// missing is the message of AWS's generated validation.
func missing(field string) *wire.Error {
	return invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", field)
}

// breaks is the same for a value outside its constraint.
func breaks(value any, field, constraint string, args ...any) *wire.Error {
	out := invalid("1 validation error detected: Value '%v' at '%s' failed to satisfy constraint: Member must ", value, field)
	out.Message += wire.Refuse("", constraint, args...).Message
	return out
}

// then runs checks in order until one refuses.
func then(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// codeOf is an error's code; "" of another error.
func codeOf(err error) string {
	var refused *wire.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}
