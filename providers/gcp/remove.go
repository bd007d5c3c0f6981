package gcp

import (
	"context"
	"errors"

	"gatehouse.dev/internal/gcpcalls"
)

// remove deletes what the step names. Endpoints go with their group. What is still in
// use is Pending: no worker waits for it.
func (c *change) remove(ctx context.Context) error {
	if c.step.ID.Kind == KindNetworkEndpoints {
		return nil
	}
	err := c.drop(ctx)
	switch {
	case err == nil || isMissing(err):
		c.memory.forget(c.path(), c.step.ID)
		return nil
	case errors.Is(err, gcpcalls.ErrRunning):
		return c.pending(soon, "Google Cloud is at it")
	case isInUse(err):
		return c.pending(slower, "it is still in use: %w", err)
	}
	return err
}

// drop deletes it, once whatever else is done to it has ended, in whichever way.
func (c *change) drop(ctx context.Context) error {
	if err := c.calls.Settle(ctx, c.path()); errors.Is(err, gcpcalls.ErrRunning) {
		return err
	}
	op, err := c.calls.Delete(ctx, c.path())
	if err != nil {
		return err
	}
	return c.calls.Wait(ctx, op)
}
