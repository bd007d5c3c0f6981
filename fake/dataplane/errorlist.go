package dataplane

import "errors"

// errorList gathers what went wrong with parts while the others go on.
type errorList []error

func (e *errorList) add(err error) {
	if err != nil {
		*e = append(*e, err)
	}
}

func (e errorList) join() error { return errors.Join(e...) }
