package cloud_test

import (
	"testing"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/cloud/cloudtest"
	"gatehouse.dev/providers/providertest"
)

// Why: the fake is a provider like any other, and keeps the same laws.
func TestLaws(t *testing.T) {
	providertest.Run(t, cloudtest.Harness(func(_ testing.TB, c *cloud.Cloud) cloud.API { return c }))
}
