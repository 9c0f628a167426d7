// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline-io/faultline/shared/conversion"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// older and newer are a kind in two versions. The newer one has fields that the older lacks.
type older struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec olderSpec `json:"spec,omitempty,omitzero"`
}

type olderSpec struct {
	Server string            `json:"server,omitempty"`
	Size   int32             `json:"size,omitempty"`
	Keys   map[string]string `json:"keys,omitempty"`
	Cards  []card            `json:"cards,omitempty"`
	Nested *card             `json:"nested,omitempty"`
	// Public has a meaning even if it is empty.
	Public *struct{} `json:"public,omitempty"`
}

type card struct {
	Name string   `json:"name,omitempty"`
	MTU  *int32   `json:"mtu,omitempty"`
	DNS  []string `json:"dns,omitempty"`
}

type newer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec newerSpec `json:"spec,omitempty,omitzero"`
}

type newerSpec struct {
	olderSpec `json:",inline"`

	Only *bool `json:"only,omitempty"`
}

func (o *older) DeepCopyObject() runtime.Object { copied := *o; return &copied }
func (n *newer) DeepCopyObject() runtime.Object { copied := *n; return &copied }

const (
	olderVersion = "example.com/v1"
	newerVersion = "example.com/v2"
)

func webhook(t *testing.T) rulestest.Webhook {
	t.Helper()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.FromAPIVersionAndKind(olderVersion, "Thing"), &older{})
	scheme.AddKnownTypeWithName(schema.FromAPIVersionAndKind(newerVersion, "Thing"), &newer{})
	return rulestest.NewWebhook(t, scheme, &newer{}, conversion.LosslessPair("example.com/kept",
		func(src *newer, dst *older) { dst.ObjectMeta, dst.Spec = src.ObjectMeta, src.Spec.olderSpec },
		func(src *older, dst *newer) {
			dst.ObjectMeta, dst.Spec.olderSpec = src.ObjectMeta, src.Spec
			if nested := src.Spec.Nested; nested != nil && nested.Name == "" && nested.MTU == nil && len(nested.DNS) == 0 {
				dst.Spec.Nested = nil
			}
		},
	))
}

// thing returns an object of a version with its spec and annotations.
func thing(t *testing.T, version, spec string, annotations map[string]any) map[string]any {
	t.Helper()
	object := map[string]any{"apiVersion": version, "kind": "Thing", "metadata": map[string]any{"name": "a", "annotations": annotations}}
	NewWithT(t).Expect(json.Unmarshal([]byte(spec), &object)).To(Succeed())
	return object
}

func specOf(t *testing.T, object map[string]any) string {
	t.Helper()
	data, err := json.Marshal(object["spec"])
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func zeroValuesOf(object map[string]any) any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations[conversion.ZeroValuesAnnotation]
}

func TestZeroValuesRoundTrip(t *testing.T) {
	g, convert := NewWithT(t), webhook(t)
	const spec = `{"cards":[{"dns":[],"name":"a"},{"name":""}],"keys":{},"nested":{"dns":[],"name":""},"server":"","size":0}`
	stored := convert.Convert(t, thing(t, olderVersion, `{"spec":`+spec+`}`, nil), newerVersion)
	g.Expect(specOf(t, stored)).To(Equal(`{"cards":[{"name":"a"},{}]}`))
	shown := convert.Convert(t, stored, olderVersion)
	g.Expect(specOf(t, shown)).To(MatchJSON(spec))
	g.Expect(zeroValuesOf(shown)).To(BeNil(), "the other version has no zero values")
	g.Expect(convert.Convert(t, shown, newerVersion)).To(Equal(stored))
}

func TestZeroValuesAnnotationIsRemoved(t *testing.T) {
	g, convert := NewWithT(t), webhook(t)
	stored := convert.Convert(t, thing(t, olderVersion, `{"spec":{"server":""}}`, nil), newerVersion)
	shown := convert.Convert(t, stored, olderVersion)
	shown["spec"] = map[string]any{"server": "vc"}
	g.Expect(zeroValuesOf(convert.Convert(t, shown, newerVersion))).To(BeNil())
}

func TestOtherVersionOverridesZeroValues(t *testing.T) {
	g, convert := NewWithT(t), webhook(t)
	stored := convert.Convert(t, thing(t, olderVersion, `{"spec":{"server":"","size":0}}`, nil), newerVersion)
	stored["spec"] = map[string]any{"server": "vc"}
	g.Expect(specOf(t, convert.Convert(t, stored, olderVersion))).To(Equal(`{"server":"vc","size":0}`))
}

func TestRemovedStructStaysRemoved(t *testing.T) {
	g, convert := NewWithT(t), webhook(t)
	stored := convert.Convert(t, thing(t, olderVersion, `{"spec":{"server":"vc","nested":{"name":"a","dns":[]},"cards":[{"name":"a","dns":[]}]}}`, nil), newerVersion)
	stored["spec"] = map[string]any{"server": "vc"}
	g.Expect(specOf(t, convert.Convert(t, stored, olderVersion))).To(Equal(`{"server":"vc"}`))
}

// Any client may write the annotation.
func TestInvalidZeroValuesAreIgnored(t *testing.T) {
	convert := webhook(t)
	for name, text := range map[string]string{
		"a value that is not zero":            `{"/spec/server":"mine"}`,
		"a value of another type":             `{"/spec/server":[]}`,
		"a field that the kind does not have": `{"/spec/unknown":""}`,
		"a field next to spec":                `{"/other":{}}`,
		"metadata":                            `{"/metadata/finalizers":[],"/metadata/namespace":""}`,
		"the type":                            `{"/kind":"","/apiVersion":""}`,
		"a struct that means something":       `{"/spec/public":{}}`,
		"a string that means something":       `{"/spec/cards/0/name":""}`,
		"a number that means something":       `{"/spec/cards/0/mtu":0}`,
		"a field of only one version":         `{"/spec/only":false}`,
		"an element that is not there":        `{"/spec/cards/1":{},"/spec/cards/1/name":"","/spec/cards/-1/name":"","/spec/cards/x/name":""}`,
		"no pointers":                         `{"":{},"spec":{},"/":{},"//":{},"spec/server":""}`,
		"too long":                            `{"/spec/size":` + strings.Repeat(" ", 20000) + `0}`,
		"very deep":                           strings.Repeat("[", 16000),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, way := range [][]string{{newerVersion, olderVersion}, {olderVersion, newerVersion}} {
				const spec = `{"spec":{"cards":[{"name":"a"}]}}`
				want := convert.Convert(t, thing(t, way[0], spec, nil), way[1])
				got := convert.Convert(t, thing(t, way[0], spec, map[string]any{conversion.ZeroValuesAnnotation: text}), way[1])
				g.Expect(specOf(t, got)).To(Equal(specOf(t, want)))
				g.Expect(zeroValuesOf(got)).To(BeNil())
			}
		})
	}
}

func TestManyZeroValuesAreNotKept(t *testing.T) {
	g, convert := NewWithT(t), webhook(t)
	cards := strings.Repeat(`{"name":"","dns":[]},`, 1000)
	stored := convert.Convert(t, thing(t, olderVersion, `{"spec":{"cards":[`+cards+`{"name":"a"}]}}`, nil), newerVersion)
	g.Expect(zeroValuesOf(stored)).To(BeNil())
	g.Expect(stored["spec"]).To(HaveKeyWithValue("cards", HaveLen(1001)))
}

func TestZeroValuesDoNotMakeAnnotationsTooLong(t *testing.T) {
	g, convert := NewWithT(t), webhook(t)
	long := map[string]any{"example.com/long": strings.Repeat("a", 256<<10-20)}
	stored := convert.Convert(t, thing(t, olderVersion, `{"spec":{"server":""}}`, long), newerVersion)
	g.Expect(zeroValuesOf(stored)).To(BeNil())
}
