// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// TestWireFormat reads an object of each kind, which together have every field
// of our types, and wants the same when it is written again. Zero values are
// used where they mean something, because they are the first to get lost.
func TestWireFormat(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(AddToScheme(scheme)).To(Succeed())

	var kinds []string
	for kind := range scheme.KnownTypes(GroupVersion) {
		if strings.HasPrefix(kind, "Metal3") && !strings.HasSuffix(kind, "List") {
			kinds = append(kinds, kind)
		}
	}
	g.Expect(kinds).To(HaveLen(9))
	for _, kind := range slices.Sorted(slices.Values(kinds)) {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			data, err := os.ReadFile(filepath.Join("testdata", strings.ToLower(kind)+".yaml"))
			g.Expect(err).NotTo(HaveOccurred())
			object, err := scheme.New(GroupVersion.WithKind(kind))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(yaml.UnmarshalStrict(data, object)).To(Succeed(), "a field that the type does not have")

			written, err := json.Marshal(object)
			g.Expect(err).NotTo(HaveOccurred())
			want, err := yaml.YAMLToJSON(data)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(written).To(MatchJSON(want), "a field that is lost or changed")
		})
	}
}

// TestEmptyObjects wants nothing in an object that nobody put there: what is
// written out cannot be told from what the user said.
func TestEmptyObjects(t *testing.T) {
	for name, object := range map[string]any{
		"Metal3Cluster":             Metal3Cluster{},
		"Metal3ClusterTemplate":     Metal3ClusterTemplate{},
		"Metal3Data":                Metal3Data{},
		"Metal3DataClaim":           Metal3DataClaim{},
		"Metal3DataTemplate":        Metal3DataTemplate{},
		"Metal3Machine":             Metal3Machine{},
		"Metal3MachineTemplate":     Metal3MachineTemplate{},
		"Metal3Remediation":         Metal3Remediation{},
		"Metal3RemediationTemplate": Metal3RemediationTemplate{},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			data, err := json.Marshal(object)
			g.Expect(err).NotTo(HaveOccurred())
			var fields map[string]any
			g.Expect(json.Unmarshal(data, &fields)).To(Succeed())
			g.Expect(slices.Collect(maps.Keys(fields))).To(ConsistOf("metadata"))
		})
	}
}

func TestConditions(t *testing.T) {
	type conditioned interface {
		GetConditions() []metav1.Condition
		SetConditions([]metav1.Condition)
	}
	conditions := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	for _, object := range []conditioned{&Metal3Cluster{}, &Metal3Machine{}} {
		g := NewWithT(t)
		object.SetConditions(conditions)
		g.Expect(object.GetConditions()).To(Equal(conditions))
		g.Expect(json.Marshal(object)).To(ContainSubstring(`"status":{"conditions":[{"type":"Ready"`))
	}
}

func TestAPIEndpointString(t *testing.T) {
	g := NewWithT(t)
	g.Expect(APIEndpoint{Host: "10.0.0.1", Port: 6443}.String()).To(Equal("10.0.0.1:6443"))
	g.Expect(APIEndpoint{Host: "2001:db8::1", Port: 6443}.String()).To(Equal("[2001:db8::1]:6443"))
}
