package gcpcalls

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"google.golang.org/api/googleapi"
)

// maxAnswer is more than an operation, or a page of a list, has: 16 MiB.
const maxAnswer = 16 << 20

// send makes a plain request of Compute's, for what its client cannot say.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body []byte) ([]byte, error) {
	return c.sendTo(ctx, method, c.base+"/compute/v1/"+path+"?"+query.Encode(), body)
}

func (c *Client) sendTo(ctx context.Context, method, at string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if err := googleapi.CheckResponse(answer); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
}

// endpoints is listNetworkEndpoints: the client of zonal groups sends the whole request
// where its body should be (compute/apiv1 v1.75), and pages are asked for alike in all
// places.
func (c *Client) endpoints() method {
	return func(ctx context.Context, what call) (result, error) {
		out := result{list: []Object{}}
		query := url.Values{"maxResults": {"500"}}
		for {
			text, err := c.send(ctx, http.MethodPost, what.path+"/listNetworkEndpoints", query, what.body)
			if err != nil {
				return result{}, err
			}
			var page struct {
				Items []jsontext.Value `json:"items"`
				Next  string           `json:"nextPageToken"`
			}
			if err := jsonv2.Unmarshal(text, &page); err != nil {
				return result{}, fmt.Errorf("the answer is no list of endpoints: %w", err)
			}
			out.list = append(out.list, page.Items...)
			if page.Next == "" {
				return out, nil
			}
			query.Set("pageToken", page.Next)
		}
	}
}

// MissingPermissions asks Resource Manager which of these permissions the caller does not
// have in a project. It needs none itself, and changes nothing
// [resource-manager/reference/rest/v1/projects/testIamPermissions]. Only Google's own
// endpoint answers, whatever the configuration's is.
func (c *Client) MissingPermissions(ctx context.Context, project string, wanted []string) ([]string, error) {
	at := "https://cloudresourcemanager.googleapis.com/v1/projects/" + url.PathEscape(project) + ":testIamPermissions"
	missing := slices.Clone(wanted)
	for some := range slices.Chunk(wanted, mostPermissions) {
		granted, err := c.granted(ctx, at, some)
		if err != nil {
			return nil, nativeError("projects.testIamPermissions", "projects/"+project, err)
		}
		missing = slices.DeleteFunc(missing, func(p string) bool { return slices.Contains(granted, p) })
	}
	return missing, nil
}

// mostPermissions is how many are asked for at once: Resource Manager's own limit.
const mostPermissions = 100

// permissions is the body of the question, and of the answer.
type permissions struct {
	Permissions []string `json:"permissions"`
}

func (c *Client) granted(ctx context.Context, at string, wanted []string) ([]string, error) {
	body, err := jsonv2.Marshal(permissions{wanted})
	if err != nil {
		return nil, err
	}
	text, err := c.sendTo(ctx, http.MethodPost, at, body)
	if err != nil {
		return nil, err
	}
	var answer permissions
	err = jsonv2.Unmarshal(text, &answer)
	return answer.Permissions, err
}
