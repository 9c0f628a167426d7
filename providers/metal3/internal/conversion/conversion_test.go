// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

// rounds is how many random objects of each version of a kind are converted.
const rounds = 1000

// TestNothingIsLostBetweenVersions makes thousands of random objects of each
// kind and converts them there and back, both ways.
func TestNothingIsLostBetweenVersions(t *testing.T) {
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1beta1.AddToScheme(scheme)).To(Succeed())
	t.Run("Metal3Cluster", roundTrips(scheme, Cluster(), clusterFromHub, clusterToHub))
	t.Run("Metal3ClusterTemplate", roundTrips(scheme, ClusterTemplate(), clusterTemplateFromHub, clusterTemplateToHub))
	t.Run("Metal3Data", roundTrips(scheme, Data(), dataFromHub, dataToHub))
	t.Run("Metal3DataClaim", roundTrips(scheme, DataClaim(), dataClaimFromHub, dataClaimToHub))
	t.Run("Metal3DataTemplate", roundTrips(scheme, DataTemplate(), dataTemplateFromHub, dataTemplateToHub))
	t.Run("Metal3Machine", roundTrips(scheme, Machine(), machineFromHub, machineToHub))
	t.Run("Metal3MachineTemplate", roundTrips(scheme, MachineTemplate(), machineTemplateFromHub, machineTemplateToHub))
	t.Run("Metal3Remediation", roundTrips(scheme, Remediation(), remediationFromHub, remediationToHub))
	t.Run("Metal3RemediationTemplate", roundTrips(scheme, RemediationTemplate(), remediationTemplateFromHub, remediationTemplateToHub))
}

func roundTrips[H, S any, hub interface {
	*H
	client.Object
}, spoke interface {
	*S
	client.Object
}](scheme *runtime.Scheme, constructor conversion.Constructor, fromHub func(hub, spoke), toHub func(spoke, hub),
) func(*testing.T) {
	from, to := conversion.Lossless(KeptAnnotation, fromHub, toHub)
	return func(t *testing.T) {
		_, err := constructor(scheme)
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		fill := utilconversion.GetFuzzer(scheme, func(runtimeserializer.CodecFactory) []any { return []any{anyJSON, anyTime} }).Fill
		for range rounds {
			h, s, again := hub(new(H)), spoke(new(S)), hub(new(H))
			fill(h)
			g.Expect(received(from)(t.Context(), h, s)).To(Succeed())
			g.Expect(received(to)(t.Context(), s, again)).To(Succeed())
			g.Expect(equality.Semantic.DeepEqual(h, again)).To(BeTrue(), cmp.Diff(h, again))
		}
		for range rounds {
			s, h, again := spoke(new(S)), hub(new(H)), spoke(new(S))
			fill(s)
			g.Expect(received(to)(t.Context(), s, h)).To(Succeed())
			g.Expect(received(from)(t.Context(), h, again)).To(Succeed())
			g.Expect(equality.Semantic.DeepEqual(s, again)).To(BeTrue(), cmp.Diff(s, again))
		}
	}
}

// received has objects converted that were JSON, as all objects are that the
// API server has converted: nil and empty are told apart only where JSON can.
func received[A, B any, from interface {
	*A
	client.Object
}, to interface {
	*B
	client.Object
}](convert func(context.Context, from, to) error,
) func(context.Context, from, to) error {
	return func(ctx context.Context, src from, dst to) error {
		data, err := json.Marshal(src)
		if err != nil {
			return err
		}
		read := from(new(A))
		if err := json.Unmarshal(data, read); err != nil {
			return err
		}
		return convert(ctx, read, dst)
	}
}

// anyTime makes times that are JSON: to the second.
func anyTime(value **metav1.Time, c randfill.Continue) {
	if c.Bool() {
		*value = &metav1.Time{Time: metav1.Unix(int64(c.Uint32()), 0).Rfc3339Copy().Time}
	}
}

// anyJSON makes values that are JSON.
func anyJSON(value *apiextensionsv1.JSON, c randfill.Continue) {
	values := []string{"\"text\"", "1", "1.0", "true", "[1,\"a\"]", "{\"a\":{\"b\":null}}"}
	value.Raw = []byte(values[c.Intn(len(values))])
}
