package gcpcalls

import (
	"context"
	jsonv2 "encoding/json/v2"
	"strings"

	certificatemanager "cloud.google.com/go/certificatemanager/apiv1"
	networksecurity "cloud.google.com/go/networksecurity/apiv1"
	"google.golang.org/api/networkservices/v1"
	"google.golang.org/api/option"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
)

// addCertificates adds Certificate Manager.
func (c *Client) addCertificates(ctx context.Context, options ...option.ClientOption) error {
	api, err := certificatemanager.NewRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	c.table["locations/trustConfigs"] = methods{
		"get": object(api.GetTrustConfig), "list": list(api.ListTrustConfigs), "insert": starting(api.CreateTrustConfig),
		"patch": starting(api.UpdateTrustConfig), "delete": ending(api.DeleteTrustConfig),
	}
	c.table["locations/certificates"] = methods{
		"get": object(api.GetCertificate), "list": list(api.ListCertificates), "insert": starting(api.CreateCertificate),
		"patch": starting(api.UpdateCertificate), "delete": ending(api.DeleteCertificate),
	}
	c.table["locations/certificateMaps"] = methods{
		"get": object(api.GetCertificateMap), "list": list(api.ListCertificateMaps), "insert": starting(api.CreateCertificateMap),
		"patch": starting(api.UpdateCertificateMap), "delete": ending(api.DeleteCertificateMap),
	}
	c.table["locations/certificateMapEntries"] = methods{
		"get": object(api.GetCertificateMapEntry), "list": list(api.ListCertificateMapEntries), "insert": starting(api.CreateCertificateMapEntry),
		"patch": starting(api.UpdateCertificateMapEntry), "delete": ending(api.DeleteCertificateMapEntry),
	}
	return nil
}

// addSecurity adds Network Security.
func (c *Client) addSecurity(ctx context.Context, options ...option.ClientOption) error {
	api, err := networksecurity.NewRESTClient(ctx, options...)
	if err != nil {
		return err
	}
	c.table["locations/backendAuthenticationConfigs"] = methods{
		"get": object(api.GetBackendAuthenticationConfig), "list": list(api.ListBackendAuthenticationConfigs), "insert": starting(api.CreateBackendAuthenticationConfig),
		"patch": starting(api.UpdateBackendAuthenticationConfig), "delete": ending(api.DeleteBackendAuthenticationConfig),
	}
	c.table["locations/serverTlsPolicies"] = methods{
		"get": object(api.GetServerTlsPolicy), "list": list(api.ListServerTlsPolicies), "insert": starting(api.CreateServerTlsPolicy),
		"patch": starting(api.UpdateServerTlsPolicy), "delete": ending(api.DeleteServerTlsPolicy),
	}
	return nil
}

// addServices adds the TLS routes of Network Services, by the discovery client: no other
// one of Google's has their target proxies.
func (c *Client) addServices(ctx context.Context, options ...option.ClientOption) error {
	api, err := networkservices.NewService(ctx, options...)
	if err != nil {
		return err
	}
	routes := routes{api.Projects.Locations}
	c.table["locations/tlsRoutes"] = methods{
		"get": routes.get, "list": routes.list, "insert": routes.insert, "patch": routes.patch, "delete": routes.delete,
	}
	return nil
}

// routes are the methods of TLS routes.
type routes struct {
	api *networkservices.ProjectsLocationsService
}

func (r routes) get(ctx context.Context, c call) (result, error) {
	route, err := r.api.TlsRoutes.Get(c.path).Context(ctx).Do()
	if err != nil {
		return result{}, err
	}
	out, err := route.MarshalJSON()
	return result{object: out}, err
}

func (r routes) list(ctx context.Context, c call) (result, error) {
	out := result{list: []Object{}}
	err := r.api.TlsRoutes.List(c.parent).Pages(ctx, func(page *networkservices.ListTlsRoutesResponse) error {
		for _, route := range page.TlsRoutes {
			text, err := route.MarshalJSON()
			if err != nil {
				return err
			}
			out.list = append(out.list, text)
		}
		return nil
	})
	return out, err
}

func (r routes) insert(ctx context.Context, c call) (result, error) {
	route, err := routeOf(c)
	if err != nil {
		return result{}, err
	}
	return r.started(r.api.TlsRoutes.Create(c.parent, route).TlsRouteId(c.name).Context(ctx).Do())
}

func (r routes) patch(ctx context.Context, c call) (result, error) {
	route, err := routeOf(c)
	if err != nil {
		return result{}, err
	}
	mask, err := maskOf(c.body)
	if err != nil {
		return result{}, err
	}
	return r.started(r.api.TlsRoutes.Patch(c.path, route).UpdateMask(strings.Join(mask.Paths, ",")).Context(ctx).Do())
}

func (r routes) delete(ctx context.Context, c call) (result, error) {
	return r.started(r.api.TlsRoutes.Delete(c.path).Context(ctx).Do())
}

func routeOf(c call) (*networkservices.TlsRoute, error) {
	route := &networkservices.TlsRoute{}
	if err := jsonv2.Unmarshal(c.body, route); err != nil {
		return nil, &Error{Method: c.collection + "." + c.verb, Path: c.path, Reason: ReasonMalformed, Message: "the body is not of the API", Err: err}
	}
	return route, nil
}

// started makes an Operation.
func (r routes) started(op *networkservices.Operation, err error) (result, error) {
	if err != nil {
		return result{}, err
	}
	out := &Operation{Name: op.Name, instant: true}
	end := func(op *networkservices.Operation) (bool, error) {
		if op.Error != nil {
			return true, status.FromProto(&statuspb.Status{Code: int32(op.Error.Code), Message: op.Error.Message}).Err()
		}
		return op.Done, nil
	}
	out.done, out.err = end(op)
	out.poll = func(ctx context.Context) (bool, error) {
		op, err := r.api.Operations.Get(out.Name).Context(ctx).Do()
		if err != nil {
			return false, err
		}
		return end(op)
	}
	return result{operation: out}, nil
}
