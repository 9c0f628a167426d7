// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package owned_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
)

func by(namespace, name, id string) owned.By {
	cluster := &infrav1.HarvesterCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if id != "" {
		cluster.Annotations = map[string]string{infrav1.ClusterIDAnnotation: id}
	}
	return owned.By{Cluster: cluster, Name: name}
}

func TestNamesAreValidAndUnique(t *testing.T) {
	t.Parallel()
	part := rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,80}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		namespace, name := part.Draw(t, "namespace"), part.Draw(t, "name")
		one, two := by(namespace, name, "1"), by(namespace, name, "2")
		for _, what := range []string{"lb", "lb-ippool", "vm-ippool"} {
			for _, made := range []string{one.NameFor(what), one.FormerNameFor(what)} {
				if problems := validation.IsDNS1035Label(strings.TrimRight(made, "-")); len(problems) > 0 {
					t.Fatalf("%q: %v", made, problems)
				}
			}
			if one.NameFor(what) == two.NameFor(what) || strings.HasSuffix(one.NameFor(what), "-") {
				t.Fatalf("%q", one.NameFor(what))
			}
		}
	})
}

func TestHas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	service := &corev1.Service{}
	g.Expect(by("ns", "c", "").Has(service)).To(BeFalse(), "a cluster without an id has nothing yet")
	one := by("ns", "c", "1")
	g.Expect(one.Mark(service)).To(BeTrue())
	g.Expect(one.Mark(service)).To(BeFalse())
	g.Expect(one.Has(service)).To(BeTrue())
	g.Expect(by("ns", "c", "2").Has(service)).To(BeFalse())
	g.Expect(by("ns", "copy", "1").Has(service)).To(BeFalse(), "a copy of the cluster has its id")
	g.Expect(service.Annotations).To(HaveKeyWithValue(infrav1.OwnerAnnotation, "ns/c"))
}
