package main

// wanted is what is served of an API: methods by the path of their resource, with
// blanks between; and schemas that are not looked into, because nobody writes them.
type wanted struct {
	methods map[string]string
	opaque  []string
}

const (
	global  = "get list insert delete"
	regions = "get list insert delete aggregatedList"
	aip     = "get list create patch delete"
	at      = "projects.locations."
)

// served is what fake/gcpapi serves.
var served = map[string]wanted{
	"compute": {
		methods: map[string]string{
			"addresses":                   regions + " setLabels",
			"globalAddresses":             global + " setLabels",
			"backendServices":             regions + " patch update getHealth",
			"regionBackendServices":       global + " patch update getHealth",
			"firewalls":                   global + " patch update",
			"forwardingRules":             regions + " patch setLabels setTarget",
			"globalForwardingRules":       global + " patch setLabels setTarget",
			"globalNetworkEndpointGroups": global + " attachNetworkEndpoints detachNetworkEndpoints listNetworkEndpoints",
			"globalOperations":            "get list delete wait aggregatedList",
			"healthChecks":                regions + " patch update",
			"instances":                   "get list aggregatedList",
			"networkEndpointGroups":       regions + " attachNetworkEndpoints detachNetworkEndpoints listNetworkEndpoints",
			"networks":                    global,
			"projects":                    "get",
			"regionHealthChecks":          global + " patch update",
			"regionNetworkEndpointGroups": global + " attachNetworkEndpoints detachNetworkEndpoints listNetworkEndpoints",
			"regionOperations":            "get list delete wait",
			"regionSslCertificates":       global,
			"regionSslPolicies":           global + " patch",
			"regionTargetHttpProxies":     global + " setUrlMap",
			"regionTargetHttpsProxies":    global + " patch setSslCertificates setUrlMap",
			"regionTargetTcpProxies":      global,
			"regionUrlMaps":               global + " patch update validate",
			"regions":                     "get list",
			"sslCertificates":             regions,
			"sslPolicies":                 regions + " patch",
			"subnetworks":                 regions,
			"targetHttpProxies":           regions + " patch setUrlMap",
			"targetHttpsProxies":          regions + " patch setCertificateMap setQuicOverride setSslCertificates setSslPolicy setUrlMap",
			"targetSslProxies":            global + " setBackendService setCertificateMap setProxyHeader setSslCertificates setSslPolicy",
			"targetTcpProxies":            regions + " setBackendService setProxyHeader",
			"urlMaps":                     regions + " patch update validate",
			"zoneOperations":              "get list delete wait",
			"zones":                       "get list",
		},
		opaque: []string{"Instance", "Project", "Region", "Zone"},
	},
	"certificatemanager": {methods: map[string]string{
		"projects.locations":                         "get list",
		at + "operations":                            "get list delete cancel",
		at + "certificates":                          aip,
		at + "certificateMaps":                       aip,
		at + "certificateMaps.certificateMapEntries": aip,
		at + "dnsAuthorizations":                     aip,
		at + "trustConfigs":                          aip,
	}},
	"networksecurity": {methods: map[string]string{
		"projects.locations":                "get list",
		at + "operations":                   "get list delete cancel",
		at + "backendAuthenticationConfigs": aip,
		at + "clientTlsPolicies":            aip,
		at + "serverTlsPolicies":            aip,
	}},
	"networkservices": {methods: map[string]string{
		"projects.locations":       "get list",
		at + "operations":          "get list delete cancel",
		at + "lbTrafficExtensions": aip,
		at + "lbRouteExtensions":   aip,
		at + "serviceLbPolicies":   aip,
		at + "tlsRoutes":           aip,
	}},
}
