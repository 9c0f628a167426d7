// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// example matches a block of YAML on a page.
var example = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// TestExamplesAreAccepted validates the YAML of pages against the CRDs, without unknown fields. Package charts applies that of two pages,
// which has kinds of charts and of other products.
func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	versions := readSchemas(t)
	pages, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	g.Expect(err).NotTo(HaveOccurred())
	kinds := map[string]bool{}
	for _, page := range pages {
		if slices.Contains([]string{"gitops.md", "harvester-load-balancer.md"}, filepath.Base(page)) {
			continue
		}
		content, err := os.ReadFile(page)
		g.Expect(err).NotTo(HaveOccurred())
		for _, block := range example.FindAllSubmatch(content, -1) {
			for _, document := range regexp.MustCompile("(?m)^---$").Split(string(block[1]), -1) {
				kind, err := versions.validate([]byte(document))
				g.Expect(err).NotTo(HaveOccurred(), "%s:\n%s", page, document)
				kinds[kind] = true
			}
		}
	}
	for _, kind := range []string{
		"VSphereClusterIdentity", "VSphereMachineTemplate", "Metal3DataTemplate", "Metal3MachineTemplate", "Metal3RemediationTemplate",
		"MachineHealthCheck", "Secret", "HarvesterCluster", "HarvesterMachineTemplate", "VSphereCluster",
	} {
		g.Expect(kinds).To(HaveKey(kind))
	}
}

func TestWrongExamplesAreRejected(t *testing.T) {
	t.Parallel()
	versions := readSchemas(t)
	const ours = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: VSphereClusterIdentity\nmetadata: {name: a}\n"
	for document, want := range map[string]string{
		ours + "spec: {secretName: a, secret: b}":                         "unknown fields: [spec.secret]",
		ours + "spec: {secretName: 1}":                                    "spec.secretName: Invalid value",
		ours + "spec: {servers: [a]}":                                     "spec.secretName: Required value",
		ours + "spec: {secretName: a}\nspec: {secretName: b}":             `key "spec" already set`,
		"kind: VSphereCluster\nspec: {identityRef: {kind: Pod}}":          "spec.identityRef.kind: Unsupported value",
		"kind: VSphereCluster\nmetadata: {labels: {a: b}, lables: {}}":    `unknown field "lables"`,
		"kind: VSphereClouster\nspec: {}":                                 "no CRD with kind VSphereClouster",
		"apiVersion: infrastructure.cluster.x-k8s.io/v1\nkind: IPPool":    "no CRD with kind IPPool",
		"spec: {distribution: {workers: {enable: true}}}":                 "spec.distribution.workers.enable",
		"apiVersion: v1\nkind: Secret\nstringdata: {username: a}":         `unknown field "stringdata"`,
		"- {apiGroups: [a], resource: [b], verbs: [get]}":                 `unknown field "rules[0].resource"`,
		"apiVersion: v1\nkind: Secret\nstringData: {a: {b: c}}":           "unrecognized type: string",
		"kind: VSphereCluster\nspec: {failureDomainSelector: {lable: a}}": "unknown fields: [spec.failureDomainSelector.lable]",
	} {
		_, err := versions.validate([]byte(document))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)), document)
	}
}

// crdVersion is the schema of a version of a CRD.
type crdVersion struct {
	apiVersion, kind string
	storage          bool
	structural       *structuralschema.Structural
	validator        validation.SchemaValidator
}

type schemas []crdVersion

// readSchemas returns the schemas of the CRDs of the providers and of Cluster API.
func readSchemas(t *testing.T) schemas {
	t.Helper()
	g := NewWithT(t)
	source, _ := clusterAPI(t)
	crds := append(shippedCRDs(t), crdsIn(t, filepath.Join(source, "core", "config", "crd", "bases", "*.yaml"))...)
	var all schemas
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			schema := &apiextensions.JSONSchemaProps{}
			g.Expect(apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, schema, nil)).To(Succeed())
			structural, err := structuralschema.NewStructural(schema)
			g.Expect(err).NotTo(HaveOccurred(), crd.Name)
			validator, _, err := validation.NewSchemaValidator(schema)
			g.Expect(err).NotTo(HaveOccurred(), crd.Name)
			all = append(all, crdVersion{crd.Spec.Group + "/" + v.Name, crd.Spec.Names.Kind, v.Storage, structural, validator})
		}
	}
	return all
}

// validate validates an object of Kubernetes or a CRD, or a list of RBAC rules. Without apiVersion, it is a part of an object of the
// storage version; without kind, of any kind. It returns the kind.
func (s schemas) validate(document []byte) (string, error) {
	content, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return "", err
	}
	object := &unstructured.Unstructured{}
	if content[0] == '[' {
		content = slices.Concat([]byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","rules":`), content, []byte("}"))
	}
	if err := json.Unmarshal(content, &object.Object); err != nil {
		return "", err
	}
	kind := object.GetKind()
	if typed, err := scheme.Scheme.New(object.GroupVersionKind()); err == nil {
		return kind, strictly(object.Object, typed)
	}
	refused := fmt.Errorf("no CRD with kind %s and apiVersion %q accepts it", kind, object.GetAPIVersion())
	for _, v := range s {
		if !v.matches(object) {
			continue
		}
		err := v.validate(object)
		if err == nil {
			return kind, nil
		}
		refused = errors.Join(refused, fmt.Errorf("%s: %w", v.kind, err))
	}
	return kind, refused
}

// matches reports whether the object may be of the version.
func (v crdVersion) matches(object *unstructured.Unstructured) bool {
	if kind := object.GetKind(); kind != "" && kind != v.kind {
		return false
	}
	return object.GetAPIVersion() == v.apiVersion || object.GetAPIVersion() == "" && v.storage
}

// strictly converts fields to a type that must have them all.
func strictly(fields map[string]any, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, into, true)
}

// validate validates an object of the version. A part of an object, which has no apiVersion, may lack required fields.
func (v crdVersion) validate(object *unstructured.Unstructured) error {
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	if unknown := pruning.PruneWithOptions(runtime.DeepCopyJSON(object.Object), v.structural, true, options); len(unknown) > 0 {
		return fmt.Errorf("unknown fields: %v", unknown)
	}
	if metadata, found := object.Object["metadata"].(map[string]any); found {
		if err := strictly(metadata, &metav1.ObjectMeta{}); err != nil {
			return err
		}
	}
	errs := validation.ValidateCustomResource(nil, object.Object, v.validator)
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		generated := []string{"spec.topology.hosts.hostGroupName", "spec.topology.hosts.vmGroupName"} // by a webhook
		return e.Type == field.ErrorTypeRequired && (object.GetAPIVersion() == "" || slices.Contains(generated, e.Field))
	}).ToAggregate()
}
