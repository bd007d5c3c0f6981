package tagging

import (
	"net/http"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"gatehouse.dev/fake/awsapi/wire"
)

const target = "ResourceGroupsTaggingAPI_20170126"

// protocol is either of the two.
type protocol struct{ json wire.JSON }

// Protocol is how the service is spoken to.
func Protocol() wire.Protocol { return protocol{wire.JSON{Service: target}} }

const path = "/service/" + target + "/operation/"

func (protocol) isCBOR(r *wire.Request) bool { return strings.HasPrefix(r.URL.Path, path) }

// Action implements wire.Protocol.
func (p protocol) Action(r *wire.Request) string {
	if p.isCBOR(r) {
		return strings.TrimPrefix(r.URL.Path, path)
	}
	return p.json.Action(r)
}

// Decode implements wire.Protocol.
func (p protocol) Decode(r *wire.Request, into any) error {
	if !p.isCBOR(r) {
		return p.json.Decode(r, into)
	}
	if len(r.Body) == 0 {
		return nil
	}
	mode, err := cbor.DecOptions{ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
	if err == nil {
		err = mode.Unmarshal(r.Body, into)
	}
	if err != nil {
		return &wire.Malformed{Parameter: "body", Why: "it is not what this action takes"}
	}
	return nil
}

// Reply implements wire.Protocol.
func (p protocol) Reply(w http.ResponseWriter, r *wire.Request, id string, result any) {
	if !p.isCBOR(r) {
		p.json.Reply(w, r, id, result)
		return
	}
	write(w, http.StatusOK, id, result)
}

// Refuse implements wire.Protocol.
func (p protocol) Refuse(w http.ResponseWriter, r *wire.Request, id string, err *wire.Error) {
	if !p.isCBOR(r) {
		p.json.Refuse(w, r, id, err)
		return
	}
	write(w, err.Status, id, struct {
		Type    string `cbor:"__type"`
		Message string `cbor:"message"`
	}{err.Code, err.Message})
}

func write(w http.ResponseWriter, status int, id string, value any) {
	body, err := cbor.Marshal(value)
	if err != nil {
		status, body = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/cbor")
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("X-Amzn-Requestid", id)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that has gone needs no answer
}
