// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/conversion"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestConversionToV1Beta1(t *testing.T) {
	g := NewWithT(t)
	from, to := conversion.Lossless(KeptAnnotation, clusterFromHub, clusterToHub)
	cluster := &infrav1.Metal3Cluster{}
	g.Expect(to(t.Context(), &v1beta1.Metal3Cluster{
		Spec: v1beta1.Metal3ClusterSpec{
			NoCloudProvider: ptr.To(true),
			FailureDomains:  map[string]v1beta1.FailureDomain{"b": {}, "a": {ControlPlane: ptr.To(true), Attributes: map[string]string{"region": "r"}}},
		},
		Status: v1beta1.Metal3ClusterStatus{Ready: true, FailureReason: ptr.To("CreateError")},
	}, cluster)).To(Succeed())
	g.Expect(cluster.Spec.CloudProviderEnabled).To(HaveValue(BeFalse()))
	g.Expect(cluster.Spec.FailureDomains).To(Equal([]clusterv1.FailureDomain{
		{Name: "a", ControlPlane: ptr.To(true), Attributes: map[string]string{"region": "r"}}, {Name: "b"},
	}))
	g.Expect(cluster.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	g.Expect(cluster.Status.Deprecated.V1Beta1.FailureReason).To(HaveValue(Equal("CreateError")))
	older := &v1beta1.Metal3Cluster{}
	g.Expect(from(t.Context(), cluster, older)).To(Succeed())
	g.Expect(older.Spec.CloudProviderEnabled).To(BeNil(), "as it was written")
	g.Expect(older.Spec.NoCloudProvider).To(HaveValue(BeTrue()))

	remediation := &infrav1.Metal3Remediation{}
	remediationToHub(&v1beta1.Metal3Remediation{Spec: v1beta1.Metal3RemediationSpec{
		Strategy: &v1beta1.RemediationStrategy{Timeout: &metav1.Duration{Duration: 5 * time.Minute}},
	}}, remediation)
	g.Expect(remediation.Spec.Strategy.TimeoutSeconds).To(Equal(int32(300)))
}

// TestV1Beta1ClientWritesWin changes single fields as v1beta1, and expects no other changes.
func TestV1Beta1ClientWritesWin(t *testing.T) {
	stored := func() *infrav1.Metal3Cluster {
		return &infrav1.Metal3Cluster{
			Spec: infrav1.Metal3ClusterSpec{
				ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
				CloudProviderEnabled: ptr.To(false),
				FailureDomains:       []clusterv1.FailureDomain{{Name: "b", ControlPlane: ptr.To(false)}, {Name: "a", ControlPlane: ptr.To(true)}},
				Distribution:         faultlinev1.Distribution{FailureDomains: []faultlinev1.FailureDomainIntent{{Name: "a"}}},
			},
			Status: infrav1.Metal3ClusterStatus{Distribution: faultlinev1.DistributionStatus{ControlPlaneSkew: ptr.To[int32](1)}},
		}
	}
	for name, c := range map[string]struct {
		write func(*v1beta1.Metal3Cluster)
		want  func(*infrav1.Metal3Cluster)
	}{
		"nothing": {write: func(*v1beta1.Metal3Cluster) {}, want: func(*infrav1.Metal3Cluster) {}},
		"the endpoint": {
			write: func(c *v1beta1.Metal3Cluster) { c.Spec.ControlPlaneEndpoint.Host = "10.0.0.2" },
			want:  func(c *infrav1.Metal3Cluster) { c.Spec.ControlPlaneEndpoint.Host = "10.0.0.2" },
		},
		"ready": {
			write: func(c *v1beta1.Metal3Cluster) { c.Status.Ready = true },
			want:  func(c *infrav1.Metal3Cluster) { c.Status.Initialization.Provisioned = ptr.To(true) },
		},
		"a failure domain more": {
			write: func(c *v1beta1.Metal3Cluster) { c.Spec.FailureDomains["c"] = v1beta1.FailureDomain{} },
			want: func(c *infrav1.Metal3Cluster) {
				c.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "a", ControlPlane: ptr.To(true)}, {Name: "b", ControlPlane: ptr.To(false)}, {Name: "c"}}
			},
		},
		"no failure domains": {
			write: func(c *v1beta1.Metal3Cluster) { c.Spec.FailureDomains = nil },
			want:  func(c *infrav1.Metal3Cluster) { c.Spec.FailureDomains = nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			from, to := conversion.Lossless(KeptAnnotation, clusterFromHub, clusterToHub)
			older, got, want := &v1beta1.Metal3Cluster{}, &infrav1.Metal3Cluster{}, stored()
			g.Expect(from(t.Context(), stored(), older)).To(Succeed())
			c.write(older)
			c.want(want)
			g.Expect(to(t.Context(), older, got)).To(Succeed())
			got.Annotations = nil
			g.Expect(got).To(Equal(want))
		})
	}
}

// TestV1Beta2ControllerWritesWin does the same with fields that only v1beta1 has.
func TestV1Beta2ControllerWritesWin(t *testing.T) {
	g := NewWithT(t)
	from, to := conversion.Lossless(KeptAnnotation, machineFromHub, machineToHub)
	stored := &infrav1.Metal3Machine{}
	g.Expect(to(t.Context(), &v1beta1.Metal3Machine{
		Spec:   v1beta1.Metal3MachineSpec{Image: v1beta1.Image{URL: "http://a/1", Checksum: ptr.To("")}, FailureDomain: ptr.To("")},
		Status: v1beta1.Metal3MachineStatus{Phase: "provisioning"},
	}, stored)).To(Succeed())
	g.Expect(stored.Annotations).To(HaveKey(KeptAnnotation))
	stored.Spec.Image.Checksum, stored.Spec.ProviderID = "http://a/1.sha256", "metal3://default/host/machine"
	stored.Status.Initialization.Provisioned = ptr.To(true)

	older := &v1beta1.Metal3Machine{}
	g.Expect(from(t.Context(), stored, older)).To(Succeed())
	g.Expect(older.Spec.Image.Checksum).To(HaveValue(Equal("http://a/1.sha256")))
	g.Expect(older.Spec.ProviderID).To(HaveValue(Equal("metal3://default/host/machine")))
	g.Expect(older.Spec.FailureDomain).To(HaveValue(BeEmpty()), "no client changed it")
	g.Expect(older.Status.Ready).To(BeTrue())
	g.Expect(older.Status.Phase).To(Equal("provisioning"))
	g.Expect(older.Annotations).NotTo(HaveKey(KeptAnnotation))
}

func TestNoAnnotationIfLossless(t *testing.T) {
	g := NewWithT(t)
	from, to := conversion.Lossless(KeptAnnotation, machineFromHub, machineToHub)
	older, stored := &v1beta1.Metal3Machine{}, &infrav1.Metal3Machine{}
	hub := &infrav1.Metal3Machine{Spec: infrav1.Metal3MachineSpec{Image: infrav1.Image{URL: "http://a/1", Checksum: "abc"}}}
	g.Expect(from(t.Context(), hub, older)).To(Succeed())
	g.Expect(older.Annotations).To(BeEmpty())
	g.Expect(to(t.Context(), older, stored)).To(Succeed())
	g.Expect(stored.Annotations).To(BeEmpty())
}

func TestInvalidAnnotationIsIgnored(t *testing.T) {
	_, to := conversion.Lossless(KeptAnnotation, clusterFromHub, clusterToHub)
	want := &infrav1.Metal3Cluster{Spec: infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "a", Port: 1}}}
	rulestest.SurvivesBadAnnotations(t, want, func(annotations map[string]string) (*infrav1.Metal3Cluster, error) {
		older := &v1beta1.Metal3Cluster{Spec: v1beta1.Metal3ClusterSpec{ControlPlaneEndpoint: v1beta1.APIEndpoint{Host: "a", Port: 1}}}
		older.Annotations = annotations
		got := &infrav1.Metal3Cluster{}
		return got, to(context.WithoutCancel(t.Context()), older, got)
	})

	g := NewWithT(t)
	from, _ := conversion.Lossless(KeptAnnotation, machineFromHub, machineToHub)
	for _, text := range []string{"{", "", "[1]", "null", `{"spec":7}`} {
		older := &v1beta1.Metal3Machine{}
		stored := &infrav1.Metal3Machine{Spec: infrav1.Metal3MachineSpec{FailureDomain: "a"}}
		stored.Annotations = map[string]string{KeptAnnotation: text}
		g.Expect(from(t.Context(), stored, older)).To(Succeed(), text)
		g.Expect(older.Spec.FailureDomain).To(HaveValue(Equal("a")), text)
		g.Expect(older.Annotations).NotTo(HaveKey(utilconversion.DataAnnotation), text)
	}
}
