package gcpapi

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/calls"
	"gatehouse.dev/fake/gcpapi/schema"
	"gatehouse.dev/fake/gcpapi/store"
)

// mostBody is the largest body that is read, in bytes.
const mostBody = 16 << 20

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, AdminPath) {
		s.admin().ServeHTTP(w, r)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		http.Error(w, "the request can't be read", http.StatusRequestEntityTooLarge)
		return
	}
	to, ok := s.route(r)
	if !ok {
		s.unknown(w, r)
		return
	}
	s.serve(w, r, to, text)
}

// unknown refuses a path that no API has, or that is not emulated.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	refused := &store.Error{Status: http.StatusNotFound, Reason: store.NotFound, Message: "The requested URL " + r.URL.Path + " was not found for " + r.Method + ": no method that is emulated has it."}
	number, _ := s.begin(&Call{Method: "unknown", Target: r.URL.Path, Caller: r.UserAgent()})
	s.end(number, outcome{err: refused})
	reply(w, refused.Status, s.services[0].Refuse(refused))
}

// outcome is how a call ended.
type outcome struct {
	body  store.Object
	err   *store.Error
	wrote bool
	uses  []store.Name
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, to routed, text []byte) {
	call := &store.Call{API: to.service.API, Method: to.target.Method, Scope: to.target.Scope, Collection: to.target.Collection, ID: to.target.ID,
		Query: r.URL.Query(), Caller: r.UserAgent()}
	refused := decode(call, text)
	entry := s.entry(call, to.service)
	number, fault := s.begin(&entry)
	s.arrived.Add(1)
	s.active.Add(1)
	defer s.active.Add(-1)
	calls.Pause(r.Context(), fault.Delay)
	if fault.Kind == CutBefore {
		s.end(number, outcome{})
		panic(http.ErrAbortHandler) // net/http's way to end a connection without an answer
	}
	s.await(r, call)
	out := s.answer(r, call, to.service, refused, fault)
	s.end(number, out)
	if out.wrote {
		s.Refresh()
	}
	switch {
	case fault.Kind == CutAfter:
		panic(http.ErrAbortHandler)
	case out.err != nil:
		told := *out.err
		body := to.service.Refuse(&told)
		reply(w, told.Status, body)
	default:
		reply(w, http.StatusOK, out.body)
	}
}

// decode reads a call's query and body by the API's definitions.
func decode(call *store.Call, text []byte) *store.Error {
	if err := call.Method.Parameters(call.Query); err != nil {
		return store.Bad("%s", strings.Replace(err.Error(), "'resource.", "'", 1))
	}
	if call.Method.Request == "" || len(text) == 0 {
		return nil
	}
	var body store.Object
	if err := json.Unmarshal(text, &body); err != nil {
		return &store.Error{Status: http.StatusBadRequest, Reason: "parseError", Message: "Parse Error: " + err.Error()}
	}
	cleaned, err := call.API.Clean(call.Method.Request, body)
	var fault *schema.Fault
	if errors.As(err, &fault) {
		return store.Bad("%s", fault.Error())
	}
	call.Body = cleaned
	return nil
}

// answer does what is asked for, or refuses.
func (s *Server) answer(r *http.Request, call *store.Call, to *store.Service, refused *store.Error, fault Fault) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.Now = s.Clock.Now()
	if err := s.admit(r, call, to, fault); err != nil {
		return outcome{err: err}
	}
	if refused != nil {
		return outcome{err: refused}
	}
	fault.mark(call)
	body, err := to.Do(call)
	var told *store.Error
	if err != nil && !errors.As(err, &told) {
		told = &store.Error{Status: http.StatusInternalServerError, Reason: store.BackendError, Message: err.Error()}
	}
	return outcome{body, told, err == nil && !call.Method.Reads(), call.Uses}
}

// admit refuses callers that may not call, projects that are not there, and calls that
// are too many.
func (s *Server) admit(r *http.Request, call *store.Call, to *store.Service, fault Fault) *store.Error {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.Admit != nil && !s.Admit(token) {
		return &store.Error{Status: http.StatusUnauthorized, Reason: "authError", Message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."}
	}
	project, known := s.store.Project(strings.Split(call.Name().Path(), "/")[1])
	if !known {
		return store.Missing(store.NameOf(call.API.Host, strings.Join(strings.Split(call.Name().Path(), "/")[:2], "/")))
	}
	canonical(call, project)
	if slices.Contains(s.Disabled, call.API.Name) {
		return disabled(call.API, project)
	}
	if err := s.permit(call.Caller, Permission(call.Method), call.Name()); err != nil {
		return err
	}
	if err := fault.refusal(s.rate(call, to), project); err != nil {
		return err
	}
	return s.meter.take(call.Now, s.rate(call, to), s.Rates, project)
}

// permit asks whether a caller has a permission.
func (s *Server) permit(caller, permission string, about store.Name) *store.Error {
	if s.Permit == nil || s.Permit(caller, permission, about) {
		return nil
	}
	return &store.Error{Status: http.StatusForbidden, Reason: store.Forbidden, Message: "Required '" + permission + "' permission for '" + about.Path() + "'"}
}

// use asks whether a caller may have a resource refer to another one.
func (s *Server) use(c *store.Call, to store.Name) *store.Error {
	return s.permit(c.Caller, Use(to), to)
}

// canonical gives the project by its ID, as answers have it.
func canonical(call *store.Call, project store.Project) {
	parts := strings.SplitN(call.Scope, "/", 3)
	switch {
	case call.Collection == "projects":
		call.ID = project.ID
	case len(parts) > 1:
		parts[1] = project.ID
		call.Scope = strings.Join(parts, "/")
	}
}

func disabled(api *schema.API, project store.Project) *store.Error {
	return &store.Error{Status: http.StatusForbidden, Reason: "accessNotConfigured",
		Message: api.Name + " API has not been used in project " + project.Number + " before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/" +
			api.Host + "/overview?project=" + project.Number + " then retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry."}
}

// await is what wait methods do before they answer like get ones: at most two minutes,
// as documented, until the operation has ended.
func (s *Server) await(r *http.Request, call *store.Call) {
	if call.Method.Verb() != "wait" {
		return
	}
	s.mu.Lock()
	o := s.store.Operation(call.ID)
	s.mu.Unlock()
	if o == nil {
		return
	}
	until := o.End
	if most := s.Clock.Now().Add(2 * time.Minute); until.After(most) {
		until = most
	}
	s.active.Add(-1)
	defer s.active.Add(1)
	_ = s.Clock.Wait(r.Context(), until) // whoever left gets no answer
}

func reply(w http.ResponseWriter, status int, body store.Object) {
	text, err := json.Marshal(body, json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(err.Error())
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the caller may be gone
}
