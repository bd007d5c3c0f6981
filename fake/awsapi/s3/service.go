package s3

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json/v2"
	"net/http"
	"slices"
	"time"

	"gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/fake/awsapi/wire"
)

// Config is what New needs.
type Config struct {
	Home account.Home
	IDs  *account.IDs
	Keep time.Duration // how old a state a read may ask for
}

// Service is the emulated service.
type Service struct {
	Config
	past account.History[state]
}

type state struct{ Buckets account.Rows[bucket] }

type bucket struct {
	Name       string
	Versioning string // "", Enabled, Suspended
	Made       time.Time
	Objects    []object // every version, oldest first
}

type object struct {
	Key     string
	Version string // "null" while versioning is off
	Marker  bool   `json:",omitzero"` // a delete marker
	ETag    string
	Size    int
	Made    time.Time
	Content []byte      `json:"-"`
	Header  http.Header `json:"-"`
}

// New makes a service without buckets.
func New(config Config) *Service {
	return &Service{Config: config, past: account.History[state]{Keep: config.Keep}}
}

func (s *Service) change(call *account.Call, do func(*state) error) error {
	next := state{s.past.Now().Buckets.Fork()}
	if err := do(&next); err != nil {
		return err
	}
	s.past.Commit(call.Now, next)
	return nil
}

// MarshalJSON writes the newest state, as a dump shows it: no contents.
func (s *Service) MarshalJSON() ([]byte, error) {
	return json.Marshal(s.past.Now(), json.OmitZeroStructFields(true))
}

// Read is an object's content; version "" is the newest.
func (s *Service) Read(name, key, version string) ([]byte, bool) {
	now := s.past.Now()
	b := now.Buckets.Get(name)
	if b == nil {
		return nil, false
	}
	if o := b.find(key, version); o != nil && !o.Marker {
		return o.Content, true
	}
	return nil, false
}

// find is a version of an object; version "" is the newest. It may be a delete marker.
func (b *bucket) find(key, version string) *object {
	for _, o := range slices.Backward(b.Objects) {
		if o.Key == key && (version == "" || o.Version == version) {
			return &o
		}
	}
	return nil
}

func etag(content []byte) string {
	sum := md5.Sum(content) // what S3 calls an ETag; nothing is protected by it
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func refuse(status int, code, format string, args ...any) error {
	out := wire.Refuse(code, format, args...)
	out.Status = status
	return out
}

func (s *state) bucket(name string) (*bucket, error) {
	if b := s.Buckets.Get(name); b != nil {
		return b, nil
	}
	return nil, refuse(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
}

// edit changes a copy of a bucket.
func (s *Service) edit(call *account.Call, name string, do func(*bucket) error) error {
	return s.change(call, func(now *state) error {
		old, err := now.bucket(name)
		if err != nil {
			return err
		}
		next := *old
		next.Objects = slices.Clone(old.Objects)
		if err := do(&next); err != nil {
			return err
		}
		now.Buckets.Put(name, next)
		return nil
	})
}

func (s *Service) createBucket(call *account.Call, in *Input) (any, error) {
	err := s.change(call, func(now *state) error {
		if now.Buckets.Get(in.Bucket) != nil {
			return refuse(http.StatusConflict, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.")
		}
		if len(in.Bucket) < 3 || len(in.Bucket) > 63 {
			return refuse(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid.")
		}
		now.Buckets.Put(in.Bucket, bucket{Name: in.Bucket, Made: call.Now})
		return nil
	})
	return output{Header: http.Header{"Location": {"/" + in.Bucket}}}, err
}

func (s *Service) headBucket(call *account.Call, in *Input) (any, error) {
	now := s.past.View(call)
	_, err := now.bucket(in.Bucket)
	return output{Header: http.Header{"X-Amz-Bucket-Region": {s.Home.Region}}}, err
}

func (s *Service) deleteBucket(call *account.Call, in *Input) (any, error) {
	return output{Status: http.StatusNoContent}, s.change(call, func(now *state) error {
		b, err := now.bucket(in.Bucket)
		if err == nil && len(b.Objects) > 0 {
			err = refuse(http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty")
		}
		now.Buckets.Delete(in.Bucket)
		return err
	})
}

func (s *Service) putVersioning(call *account.Call, in *Input) (any, error) {
	var asked versioning
	if err := readXML(in.Body, &asked); err != nil || asked.Status != "Enabled" && asked.Status != "Suspended" {
		return nil, refuse(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
	}
	return output{}, s.edit(call, in.Bucket, func(b *bucket) error {
		b.Versioning = asked.Status
		return nil
	})
}

func (s *Service) getVersioning(call *account.Call, in *Input) (any, error) {
	now := s.past.View(call)
	b, err := now.bucket(in.Bucket)
	if err != nil {
		return nil, err
	}
	return output{XML: versioning{Status: b.Versioning}}, nil
}

// Actions are everything that can be asked for.
func (s *Service) Actions() map[string]account.Action {
	return account.Table(
		account.Write("CreateBucket", Bucket, s.createBucket),
		account.Write("DeleteBucket", Bucket, s.deleteBucket),
		account.Write("DeleteObject", Bucket, s.deleteObject),
		account.Read("GetBucketVersioning", Bucket, s.getVersioning),
		account.Read("GetObject", Bucket, s.getObject),
		account.Read("HeadBucket", Bucket, s.headBucket),
		account.Read("HeadObject", Bucket, s.getObject),
		account.Read("ListObjectVersions", Bucket, s.listVersions),
		account.Read("ListObjectsV2", Bucket, s.listObjects),
		account.Write("PutBucketVersioning", Bucket, s.putVersioning),
		account.Write("PutObject", Bucket, s.putObject),
	)
}

// Bucket is the token bucket of S3. It has no size unless somebody gives it one.
const Bucket = "s3"
