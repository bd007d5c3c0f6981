package manifest

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/deploy/crds"
)

//go:embed crds/*.json
var gatewayCRDs embed.FS

// Schemas holds the definitions that were needed so far. Compiling the CEL rules
// of a kind costs far more than reading a file, so whoever loads again and again
// keeps one. The zero value is ready; it may be used by many goroutines.
type Schemas struct {
	mu     sync.Mutex
	loaded map[string]func() (*definition, error)
}

// definition is one CustomResourceDefinition.
type definition struct {
	served   []string
	versions map[string]*version
}

// version is one served version of a definition. Its rules are compiled when
// they are first needed.
type version struct {
	structural *structural.Structural
	schema     func() (validation.SchemaValidator, error)
	rules      func() *cel.Validator
	deprecated string // what to tell who still uses it
}

// definition reads the definition in a file, once.
func (s *Schemas) definition(file string) (*definition, error) {
	s.mu.Lock()
	load, ok := s.loaded[file]
	if !ok {
		if s.loaded == nil {
			s.loaded = map[string]func() (*definition, error){}
		}
		load = sync.OnceValues(func() (*definition, error) { return loadDefinition(file) })
		s.loaded[file] = load
	}
	s.mu.Unlock()
	return load()
}

func loadDefinition(file string) (*definition, error) {
	crd, err := decodeDefinition(file)
	if err != nil {
		return nil, fmt.Errorf("definition %s: %w", file, err)
	}
	d := &definition{versions: map[string]*version{}}
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		if d.versions[v.Name], err = newVersion(v, crd.Spec); err != nil {
			return nil, fmt.Errorf("definition %s, version %s: %w", file, v.Name, err)
		}
		d.served = append(d.served, v.Name)
	}
	slices.Sort(d.served)
	return d, nil
}

func decodeDefinition(file string) (crd apiextensionsv1.CustomResourceDefinition, err error) {
	if strings.HasSuffix(file, ".json") {
		text, err := fs.ReadFile(gatewayCRDs, path.Join("crds", file))
		if err == nil {
			err = json.Unmarshal(text, &crd)
		}
		return crd, err
	}
	text, err := fs.ReadFile(crds.Files, file)
	if err == nil {
		err = yaml.Unmarshal(text, &crd)
	}
	return crd, err
}

func newVersion(v apiextensionsv1.CustomResourceDefinitionVersion, spec apiextensionsv1.CustomResourceDefinitionSpec) (*version, error) {
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, &internal, nil); err != nil {
		return nil, err
	}
	s, err := structural.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(s); err != nil {
		return nil, err
	}
	out := &version{
		structural: s,
		schema: sync.OnceValues(func() (validation.SchemaValidator, error) {
			validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
			return validator, err
		}),
		rules: sync.OnceValue(func() *cel.Validator { return cel.NewValidator(s, true, celconfig.PerCallLimit) }),
	}
	if v.Deprecated {
		out.deprecated = fmt.Sprintf("%s/%s %s is deprecated: use %s", spec.Group, v.Name, spec.Names.Kind, newest(spec))
		if v.DeprecationWarning != nil {
			out.deprecated = *v.DeprecationWarning
		}
	}
	return out, nil
}

// newest is the stored version, to which files should move.
func newest(spec apiextensionsv1.CustomResourceDefinitionSpec) string {
	for _, v := range spec.Versions {
		if v.Storage {
			return spec.Group + "/" + v.Name
		}
	}
	return spec.Group
}

// warm compiles all there is to compile.
func (v *version) warm() {
	v.schema() //nolint:errcheck // the error is kept and returned to whoever validates
	v.rules()
}

// prune drops what the schema does not know and returns the paths of it.
func (v *version) prune(obj map[string]any) []string {
	unknown := pruning.PruneWithOptions(obj, v.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, v.structural)
	return unknown
}

// setDefaults fills in the schema's defaults.
func (v *version) setDefaults(obj map[string]any) { defaulting.Default(obj, v.structural) }

// validate runs the API server's checks of a new object in its order: the
// schema, list keys, and the CEL rules only when these found nothing that would
// confuse a rule.
func (v *version) validate(ctx context.Context, obj map[string]any) (field.ErrorList, error) {
	validator, err := v.schema()
	if err != nil {
		return nil, err
	}
	errs := validation.ValidateCustomResource(nil, obj, validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, obj)...)
	if rules := v.rules(); rules != nil && !slices.ContainsFunc(errs, blocksRules) {
		found, _ := rules.Validate(ctx, nil, v.structural, obj, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, found...)
	}
	return errs, nil
}

func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	default:
		return false
	}
}
