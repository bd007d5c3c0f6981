package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func (s *Server) create(t target) (*unstructured.Unstructured, error) {
	obj, err := t.object()
	if err != nil {
		return nil, err
	}
	t.name = obj.GetName()
	if _, ok := s.objects[t.path()]; ok {
		return nil, apierrors.NewAlreadyExists(t.group(), t.name)
	}
	empty := blank(obj.GroupVersionKind())
	delete(obj.Object, "status")
	if obj, err = s.fields.update(empty, obj, t.manager, ""); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.store(t, nil, obj), nil
}

func blank(kind schema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetGroupVersionKind(kind)
	return out
}

// update stores what change makes of the live object.
func (s *Server) update(t target, change func(live *unstructured.Unstructured) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	live, err := s.get(t)
	if err != nil {
		return nil, err
	}
	next, err := change(live)
	if err != nil {
		return nil, err
	}
	if err := precondition(t, live, next); err != nil {
		return nil, err
	}
	next = t.only(live, next)
	if next, err = s.fields.update(live, next, t.manager, t.subresource()); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.store(t, live, next), nil
}

func (t target) subresource() string {
	if t.status {
		return "status"
	}
	return ""
}

func precondition(t target, live, next *unstructured.Unstructured) error {
	if uid := next.GetUID(); uid != "" && live.GetUID() != uid {
		return apierrors.NewConflict(t.group(), t.name, fmt.Errorf("the UID is %s, not %s", live.GetUID(), uid))
	}
	if v := next.GetResourceVersion(); v != "" && v != live.GetResourceVersion() {
		return apierrors.NewConflict(t.group(), t.name, errors.New("the object has been modified"))
	}
	return nil
}

// only takes over the part that a request to this (sub)resource may change.
func (t target) only(live, next *unstructured.Unstructured) *unstructured.Unstructured {
	from, to := live, next.DeepCopy()
	if t.status {
		from, to = next, live.DeepCopy()
		to.SetManagedFields(next.GetManagedFields())
	}
	delete(to.Object, "status")
	if status, ok := from.Object["status"]; ok {
		to.Object["status"] = status
	}
	return to
}

func (s *Server) patch(t target) (*unstructured.Unstructured, error) {
	switch form := types.PatchType(t.call.ContentType); form {
	case types.ApplyPatchType:
		return s.apply(t)
	case types.JSONPatchType, types.MergePatchType:
		return s.update(t, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return patched(form, live, []byte(t.call.Body))
		})
	default:
		return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", t.group(), t.name, string(form), 0, false)
	}
}

func patched(form types.PatchType, live *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	if form == types.MergePatchType {
		text, err = jsonpatch.MergePatch(text, patch)
	} else if operations, bad := jsonpatch.DecodePatch(patch); bad != nil {
		return nil, apierrors.NewBadRequest(bad.Error())
	} else {
		text, err = operations.Apply(text)
	}
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	next := &unstructured.Unstructured{}
	return next, next.UnmarshalJSON(text)
}

func (s *Server) apply(t target) (*unstructured.Unstructured, error) {
	config, err := t.object()
	if err != nil {
		return nil, err
	}
	live, err := s.get(t)
	isNew := apierrors.IsNotFound(err)
	switch {
	case isNew && t.status:
		return nil, err
	case isNew && config.GetUID() != "":
		return nil, apierrors.NewConflict(t.group(), t.name, errors.New("uid mismatch: no existing object was found"))
	case isNew:
		live = blank(config.GroupVersionKind())
	}
	if err := precondition(t, live, config); !isNew && err != nil {
		return nil, err
	}
	config.SetResourceVersion("")
	next, err := s.fields.apply(live, config, t)
	if err != nil {
		return nil, err
	}
	if isNew {
		return s.store(t, nil, next), nil
	}
	return s.store(t, live, t.only(live, next)), nil
}

// store gives a new version to what differs from what is there.
func (s *Server) store(t target, live, next *unstructured.Unstructured) *unstructured.Unstructured {
	switch {
	case live == nil:
		next.SetUID(types.UID("uid-" + strconv.FormatInt(s.version+1, 10)))
		next.SetGeneration(1)
		next.SetName(t.name)
		next.SetNamespace(t.namespace)
	case same(live, next):
		return live
	default:
		next.SetUID(live.GetUID())
		next.SetGeneration(live.GetGeneration())
		if !reflect.DeepEqual(live.Object["spec"], next.Object["spec"]) {
			next.SetGeneration(live.GetGeneration() + 1)
		}
	}
	s.version++
	next.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[t.path()] = next
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 {
		delete(s.objects, t.path())
	}
	return next.DeepCopy()
}

// same compares all but when somebody wrote last.
func same(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, o := range []*unstructured.Unstructured{a, b} {
		entries := o.GetManagedFields()
		for i := range entries {
			entries[i].Time = nil
		}
		o.SetManagedFields(entries)
		o.SetResourceVersion("")
	}
	return reflect.DeepEqual(a.Object, b.Object)
}
