// Package ccm makes Gatehouse's controllers part of a cloud controller manager.
// There are three ways to have them: a vendor's manager imports this package and
// calls Register; Command with Config.Providers is a manager of our own that runs
// beside the stock one; and with Config.Clouds it can be the cluster's only cloud
// controller manager, with the stock node, service and route controllers.
//
// It decides nothing about gateways, never imports a concrete provider, and
// changes none of the framework's package variables. Start with [Extension].
package ccm
