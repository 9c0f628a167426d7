// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

const legacy = "controlplane.cluster.x-k8s.io/legacy"

func template() clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "MachineTemplate", Name: "template"}
}

// rke2 returns a healthy RKE2ControlPlane of a version.
func rke2(version string) *unstructured.Unstructured {
	o := providertest.RKE2ControlPlane(metav1.ObjectMeta{Namespace: "ns", Name: "one"}, version, 3, template())
	o.SetGeneration(4)
	providertest.ReportRKE2(o, nil)
	return o
}

func set(o *unstructured.Unstructured, value any, fields ...string) {
	if err := unstructured.SetNestedField(o.Object, value, fields...); err != nil {
		panic(err)
	}
}

// observed is a changed object with what changes in its state.
type observed struct {
	change func(*unstructured.Unstructured)
	want   func(*machines.ControlPlane)
}

// specs lists changes of an RKE2ControlPlane's spec.
func specs() map[string]observed {
	return map[string]observed{
		"nothing special": {func(*unstructured.Unstructured) {}, func(*machines.ControlPlane) {}},
		"no replicas": {
			func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "replicas") },
			func(cp *machines.ControlPlane) { cp.Replicas = 1 },
		},
		"no rollout strategy": {
			func(o *unstructured.Unstructured) {
				unstructured.RemoveNestedField(o.Object, "spec", "rolloutStrategy")
			},
			func(*machines.ControlPlane) {},
		},
		"maxSurge 0": {
			func(o *unstructured.Unstructured) {
				set(o, int64(0), "spec", "rolloutStrategy", "rollingUpdate", "maxSurge")
			},
			func(cp *machines.ControlPlane) { cp.MaxSurge = 0 },
		},
		"maxSurge in percent": {
			func(o *unstructured.Unstructured) {
				set(o, "50%", "spec", "rolloutStrategy", "rollingUpdate", "maxSurge")
			},
			func(cp *machines.ControlPlane) { cp.MaxSurge = 0 },
		},
		"an external datastore": {
			func(o *unstructured.Unstructured) {
				set(o, map[string]any{"name": "datastore"}, "spec", "serverConfig", "externalDatastoreSecret")
			},
			func(cp *machines.ControlPlane) { cp.ExternalEtcd = true },
		},
	}
}

// states lists changes of an RKE2ControlPlane's metadata and status.
func states() map[string]observed {
	return map[string]observed{
		"a rollout": {
			func(o *unstructured.Unstructured) {
				providertest.ReportRKE2(o, map[string]bool{clusterv1.MachinesUpToDateCondition: false, clusterv1.RollingOutCondition: true, clusterv1.ScalingUpCondition: true})
			},
			func(cp *machines.ControlPlane) { cp.UpToDate, cp.RollingOut, cp.Scaling = false, true, true },
		},
		"not healthy": {
			func(o *unstructured.Unstructured) {
				providertest.ReportRKE2(o, map[string]bool{"EtcdClusterHealthy": false, "ControlPlaneComponentsHealthy": false, clusterv1.RemediatingCondition: true})
			},
			func(cp *machines.ControlPlane) {
				cp.EtcdHealthy, cp.ComponentsHealthy, cp.Remediating = false, false, true
			},
		},
		"no status": {
			func(o *unstructured.Unstructured) { delete(o.Object, "status") },
			func(cp *machines.ControlPlane) {
				cp.Observed, cp.UpToDate, cp.EtcdHealthy, cp.ComponentsHealthy = false, false, false, false
			},
		},
		"a spec that was not observed": {
			func(o *unstructured.Unstructured) { o.SetGeneration(5) },
			func(cp *machines.ControlPlane) { cp.Observed = false },
		},
		"paused": {
			func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""})
			},
			func(cp *machines.ControlPlane) { cp.Paused = true },
		},
		"legacy": {
			func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{legacy: ""}) },
			func(cp *machines.ControlPlane) {
				cp.Unable = "has the annotation " + legacy + ", so it does not remove etcd members and cannot replace single machines"
			},
		},
	}
}

func TestRKE2ControlPlanesOfBothVersionsAreReadAlike(t *testing.T) {
	t.Parallel()
	all := specs()
	maps.Copy(all, states())
	for name, tc := range all {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				want := machines.ControlPlane{
					Kind: machines.RKE2{}, Name: "RKE2ControlPlane one", Replicas: 3, Observed: true, MaxSurge: 1, UpToDate: true, EtcdHealthy: true,
					ComponentsHealthy: true, Template: "template", TemplateKind: "MachineTemplate.infrastructure.cluster.x-k8s.io", Kubernetes: "v1.36.1+rke2r1",
				}
				tc.want(&want)
				o := rke2(version)
				tc.change(o)
				is, err := machines.RKE2{}.Observe(o)
				g.Expect(err).NotTo(HaveOccurred())
				is.Changed = time.Time{}
				g.Expect(is).To(Equal(want))
			})
		}
	}
}

func TestMalformedRKE2ControlPlaneIsAnError(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*unstructured.Unstructured){
		"replicas":   func(o *unstructured.Unstructured) { set(o, "three", "spec", "replicas") },
		"conditions": func(o *unstructured.Unstructured) { set(o, "none", "status", "conditions") },
		"spec":       func(o *unstructured.Unstructured) { o.Object["spec"] = "none" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := rke2("v1beta2")
			change(o)
			_, err := machines.RKE2{}.Observe(o)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("reading RKE2ControlPlane one")))
		})
	}
	_, err := machines.RKE2{}.Observe(&controlplanev1.KubeadmControlPlane{})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("KubeadmControlPlane")))
}

func TestControlPlaneKinds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	group := controlplanev1.GroupVersion.Group
	g.Expect(machines.ControlPlaneKindOf(schema.GroupKind{Group: group, Kind: "KubeadmControlPlane"})).To(Equal(machines.Kubeadm{}))
	g.Expect(machines.ControlPlaneKindOf(schema.GroupKind{Group: group, Kind: "RKE2ControlPlane"})).To(Equal(machines.RKE2{}))
	g.Expect(machines.ControlPlaneKindOf(schema.GroupKind{Group: group, Kind: "K3sControlPlane"})).To(BeNil())
	g.Expect(machines.ControlPlaneKindOf(schema.GroupKind{Group: "example.com", Kind: "RKE2ControlPlane"})).To(BeNil(), "a kind of another group is another kind")
	g.Expect(machines.ControlPlaneKindNames()).To(Equal("a KubeadmControlPlane or RKE2ControlPlane"))
}

func TestTestedVersionsOfRKE2(t *testing.T) {
	t.Parallel()
	for version, tested := range map[string]bool{
		"v0.25.0": true, "v0.25.3": true, "v0.24.4": false, "v0.26.0": false, "v1.25.0": false, "v0.25.0-rc.0": false, "": false, "main": false,
	} {
		NewWithT(t).Expect(machines.RKE2{}.Facts().Tested(version)).To(Equal(tested), version)
	}
}

func TestRKE2IsReadInTheServedVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{providertest.RKE2Kind("v1beta1").GroupVersion()})
	_, err := machines.RKE2{}.New(mapper)
	g.Expect(meta.IsNoMatchError(err)).To(BeTrue(), "%v", err)
	mapper.Add(providertest.RKE2Kind("v1beta1"), meta.RESTScopeNamespace)
	o, err := machines.RKE2{}.New(mapper)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.GetObjectKind().GroupVersionKind()).To(Equal(providertest.RKE2Kind("v1beta1")))
}

func TestProtectionOfQuorum(t *testing.T) {
	t.Parallel()
	g, old := NewWithT(t), rke2("v1beta2")
	old.SetAnnotations(map[string]string{legacy: ""})
	g.Expect(machines.Kubeadm{}.ProtectsQuorum(nil)).To(BeTrue())
	g.Expect(machines.RKE2{}.ProtectsQuorum(nil)).To(BeFalse(), "it depends on the object")
	g.Expect(machines.RKE2{}.ProtectsQuorum(rke2("v1beta2"))).To(BeTrue())
	g.Expect(machines.RKE2{}.ProtectsQuorum(old)).To(BeFalse())
}

// A remediation is heeded until its annotation is removed, and by a kind that keeps it until a machine is created.
func TestHeededRemediation(t *testing.T) {
	t.Parallel()
	g, at := NewWithT(t), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	older, newer := []time.Time{at.Add(-time.Hour), at}, []time.Time{at.Add(-time.Hour), at.Add(time.Second)}
	removed := machines.Remediation{Noted: true, Machine: "m", At: at}
	kept := machines.Remediation{Noted: true, Machine: "m", At: at, Kept: true}
	damaged := machines.Remediation{Noted: true, Kept: true}
	g.Expect(removed.Heeded(newer)).To(Equal(removed))
	g.Expect(kept.Heeded(older)).To(Equal(kept))
	g.Expect(kept.Heeded(newer)).To(Equal(machines.Remediation{}))
	g.Expect(damaged.Heeded(newer)).To(Equal(damaged), "the control plane cannot read it either")
}
