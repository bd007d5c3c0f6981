package gcpcalls

import (
	"context"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// call is what a method is asked for.
type call struct {
	place
	path   string
	verb   string
	body   []byte
	filter string
	id     string // requestId
}

// result is what a method answers: one of them.
type result struct {
	operation *Operation
	object    Object
	list      []Object
}

type (
	method  func(context.Context, call) (result, error)
	methods map[string]method // by verb
)

// message is a pointer to a struct that is a message.
type message[R any] interface {
	*R
	proto.Message
}

// once says that the transport alone tries again.
func once() gax.CallOption { return gax.WithRetry(nil) }

// object is a method that answers one message.
func object[R any, P message[R], A proto.Message](f func(context.Context, P, ...gax.CallOption) (A, error)) method {
	return func(ctx context.Context, c call) (result, error) {
		req, err := fill(P(new(R)), c)
		if err != nil {
			return result{}, err
		}
		answer, err := f(ctx, req, once())
		if err != nil {
			return result{}, err
		}
		out, err := protojson.Marshal(answer)
		return result{object: out}, err
	}
}

// list is a method that answers pages of messages.
func list[R any, P message[R], A proto.Message, I interface{ Next() (A, error) }](f func(context.Context, P, ...gax.CallOption) I) method {
	return func(ctx context.Context, c call) (result, error) {
		req, err := fill(P(new(R)), c)
		if err != nil {
			return result{}, err
		}
		out := result{list: []Object{}}
		for it := f(ctx, req, once()); ; {
			one, err := it.Next()
			if errors.Is(err, iterator.Done) {
				return out, nil
			}
			if err != nil {
				return result{}, err
			}
			text, err := protojson.Marshal(one)
			if err != nil {
				return result{}, err
			}
			out.list = append(out.list, text)
		}
	}
}

// aggregated is a method that answers pages of pairs of a scope and its objects.
func aggregated[R any, P message[R], A any, I interface{ Next() (A, error) }](f func(context.Context, P, ...gax.CallOption) I) method {
	return func(ctx context.Context, c call) (result, error) {
		req, err := fill(P(new(R)), c)
		if err != nil {
			return result{}, err
		}
		out := result{list: []Object{}}
		for it := f(ctx, req, once()); ; {
			pair, err := it.Next()
			if errors.Is(err, iterator.Done) {
				return out, nil
			}
			if err != nil {
				return result{}, err
			}
			// All pairs have the same fields, and no type in common.
			scoped, _ := reflect.ValueOf(pair).FieldByName("Value").Interface().(proto.Message)
			if out.list, err = appendScoped(out.list, scoped); err != nil {
				return result{}, err
			}
		}
	}
}

// appendScoped appends the objects of one scope: its only list of messages.
func appendScoped(to []Object, scoped proto.Message) (_ []Object, err error) {
	scoped.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !fd.IsList() || fd.Message() == nil {
			return true // the warning that a scope is empty
		}
		for i := range v.List().Len() {
			var text []byte
			if text, err = protojson.Marshal(v.List().Get(i).Message().Interface()); err != nil {
				return false
			}
			to = append(to, text)
		}
		return true
	})
	return to, err
}

// operating is a method of Compute that starts an operation.
func (c *Client) operating(f func(context.Context, call) (*computepb.Operation, error)) method {
	return func(ctx context.Context, what call) (result, error) {
		op, err := f(ctx, what)
		if err != nil {
			return result{}, err
		}
		return result{operation: c.asked.of(what, op)}, nil
	}
}

// changing is operating by a client's method.
func changing[R any, P message[R]](c *Client, f func(context.Context, P, ...gax.CallOption) (*compute.Operation, error)) method {
	return c.operating(func(ctx context.Context, what call) (*computepb.Operation, error) {
		req, err := fill(P(new(R)), what)
		if err != nil {
			return nil, err
		}
		op, err := f(ctx, req, once())
		if err != nil {
			return nil, err
		}
		return op.Proto(), nil
	})
}

// notNames are the texts of requests that are not the name of what they are about.
var notNames = []protoreflect.Name{"filter", "order_by", "page_token", "service_project_number", "fingerprint", "paths"}

// fill makes the request of a call. The requests of all methods are built alike: the
// place, the name and the body are fields of theirs.
func fill[P proto.Message](req P, c call) (P, error) {
	m := req.ProtoReflect()
	fields := m.Descriptor().Fields()
	texts := map[protoreflect.Name]string{
		"project": c.project, "region": c.location, "zone": c.location, "request_id": c.id, "filter": c.filter, "parent": c.parent, "name": c.path,
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		text, known := texts[fd.Name()]
		switch {
		case fd.Name() == "update_mask":
			mask, err := maskOf(c.body)
			if err != nil {
				return req, err
			}
			m.Set(fd, protoreflect.ValueOfMessage(mask.ProtoReflect()))
		case fd.Kind() == protoreflect.MessageKind && !fd.IsList() && !fd.IsMap():
			if err := fillBody(m, fd, c); err != nil {
				return req, err
			}
		case fd.Kind() != protoreflect.StringKind || fd.IsList() || slices.Contains(notNames, fd.Name()) && !known:
		case known && text != "":
			m.Set(fd, protoreflect.ValueOfString(text))
		case !known && c.name != "" && !fd.HasPresence() && fd.Name() != "etag": // options have presence
			m.Set(fd, protoreflect.ValueOfString(c.name))
		}
	}
	return req, nil
}

// fillBody is the message that a request carries. What is made has its name; what is
// changed in a location has its path.
func fillBody(m protoreflect.Message, fd protoreflect.FieldDescriptor, c call) error {
	body := m.NewField(fd).Message()
	text := c.body
	if len(text) == 0 {
		text = []byte("{}")
	}
	if err := protojson.Unmarshal(text, body.Interface()); err != nil {
		return &Error{Method: c.collection + "." + c.verb, Path: c.path, Reason: ReasonMalformed, Message: "the body is not of the API", Err: err}
	}
	if name := body.Descriptor().Fields().ByName("name"); name != nil && name.Kind() == protoreflect.StringKind {
		value := c.name
		if c.scope == "locations" {
			value = c.path
		}
		body.Set(name, protoreflect.ValueOfString(value))
	}
	m.Set(fd, protoreflect.ValueOfMessage(body))
	return nil
}

// maskOf names the fields of a body, but for the one that is never changed.
func maskOf(body []byte) (*fieldmaskpb.FieldMask, error) {
	var fields map[string]jsontext.Value
	if err := jsonv2.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	delete(fields, "etag")
	mask := &fieldmaskpb.FieldMask{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		mask.Paths = append(mask.Paths, snake(name))
	}
	return mask, nil
}

func snake(camel string) string {
	var out strings.Builder
	for _, r := range camel {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}
