package gcp

import (
	"net/http"
	"testing"

	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/lbmodel"
)

// Why: as the operator assumes, preflights of allowed origins are answered as the route
// says, their requests are marked, and other origins get nothing.
func TestCORSAsAssumed(t *testing.T) {
	cors := &lbmodel.CORS{AllowOrigins: []string{"https://a.test"}, AllowMethods: []string{"GET", "PUT"}, AllowHeaders: []string{"x-a"}, ExposeHeaders: []string{"x-b"}, MaxAge: 60, AllowCredentials: true}
	gw := pathsOf(settingsOf("RegionalExternal", assumed), ruleFor("r", "a.test", lbmodel.PathMatch{}, lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "p", Weight: 1}}}, CORS: cors}))
	gw.Pools = []lbmodel.Pool{{Name: "p", Protocol: lbmodel.PoolHTTP1, Endpoints: []lbmodel.Endpoint{}}}
	own, _, findings := Compiler{}.Compile(gw)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	config := serveConfigs(t, gw, own)[80]
	as := map[string]serve.Position{"HostPort": serve.Ignored, "CORSPreflight": serve.Balancer, "CORSForeign": serve.Forwarded}
	for _, n := range positions(newDice(1), as) {
		m, err := serve.New(config, n.s)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(method, origin string) serve.Answer {
			h := http.Header{"Origin": {origin}}
			if method == "OPTIONS" {
				h.Set("Access-Control-Request-Method", "PUT")
			}
			return m.Answer(serve.Request{Method: method, Host: "a.test", Path: "/", Header: h})
		}
		if o := ask("OPTIONS", "https://a.test").Own; o == nil || o.Header.Get("Access-Control-Allow-Origin") != "https://a.test" || o.Header.Get("Access-Control-Max-Age") != "60" || o.Header.Get("Access-Control-Allow-Credentials") != "true" {
			t.Fatalf("%s: preflight: %+v", n.name, o)
		}
		if f := ask("PUT", "https://a.test").Forward; f == nil || f.CORS.Get("Access-Control-Allow-Origin") != "https://a.test" || f.CORS.Get("Access-Control-Expose-Headers") != "x-b" {
			t.Fatalf("%s: request: %+v", n.name, f)
		}
		if f := ask("PUT", "https://b.test").Forward; f == nil || len(f.CORS) > 0 {
			t.Fatalf("%s: another origin: %+v", n.name, f)
		}
	}
}
