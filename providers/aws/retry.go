package aws

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// How often the SDK tries a request, and the longest wait between two tries. Every
// attempt has stood in its bucket's queue, so waits need not be long: they are for
// buckets that others empty.
const (
	maxAttempts  = 10
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// backoff is the wait before a try: jittered in its upper half, and doubled each time.
func backoff(attempt int, _ error) (time.Duration, error) {
	full := min(maxBackoff, firstBackoff<<min(max(attempt-1, 0), 8))
	return full/2 + rand.N(full/2), nil
}

// newRetryer makes the one layer that tries requests again. What tells retries that
// could do harm from others is the pacing: see [unsure].
//
// The SDK's own set also takes ACM's LimitExceededException, a quota, for throttling,
// and its budget of retries, which all requests share, runs dry when an account is
// throttled for long: neither is used.
func newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = maxAttempts, maxBackoff
		o.Backoff = retry.BackoffDelayerFunc(backoff)
		o.RateLimiter = ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{
			retry.NoRetryCanceledError{},
			retry.RetryableError{},
			retry.RetryableConnectionError{},
			retry.RetryableHTTPStatusCode{Codes: retry.DefaultRetryableHTTPStatusCodes},
			retry.RetryableErrorCode{Codes: retry.DefaultRetryableErrorCodes},
			retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				return aws.BoolTernary(isThrottle(err))
			}),
		}
	})
}

// unsure is the error of a request that may have changed something: the reply was
// lost, or the server failed. It is not sent again as it is, since a second one could
// do it twice (a certificate imported without an ARN): the step that it belongs to is
// done again, and looks first.
type unsure struct{ error }

// RetryableError implements the SDK's interface.
func (unsure) RetryableError() bool { return false }

// Unwrap implements errors.Unwrap.
func (u unsure) Unwrap() error { return u.error }

// isUnsure says whether an attempt was unsure.
func isUnsure(err error) bool {
	_, is := errors.AsType[unsure](err)
	return is
}
