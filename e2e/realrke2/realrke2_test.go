//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package realrke2 runs our provider for vSphere with upstream's bootstrap and control-plane providers for RKE2.
package realrke2

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/environment"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// replicas is the number of machines of the control plane, quorum the majority of their etcd members.
const replicas, quorum = 3, 2

const namespace, name = environment.Namespace, environment.Name

// fixture is a part of the test.
type fixture struct {
	*environment.Fixture
	vcenter provider.Simulation
	release string
}

func TestTheRealRKE2(t *testing.T) {
	g := NewWithT(t)
	vcenter, err := vsphere.Provider{}.Simulate("")
	g.Expect(err).NotTo(HaveOccurred())
	options := environment.Options{Provider: vsphere.Provider{}, Infrastructure: func(string) (provider.Infrastructure, error) { return vcenter, nil }}
	release, err := environment.AddRKE2(&options)
	g.Expect(err).NotTo(HaveOccurred())
	environment.Sequence(t, options, func(f *environment.Fixture) *fixture {
		return &fixture{Fixture: f, vcenter: vcenter, release: release}
	}, []environment.Part[*fixture]{
		{Name: "accepts upstream's template", Run: (*fixture).acceptsUpstream},
		{Name: "creates one machine in each zone", Run: (*fixture).create},
		{Name: "moves one machine out of an evicted zone", Run: (*fixture).evicts},
		{Name: "moves one machine back", Run: (*fixture).returns},
		{Name: "deletes the cluster", Run: (*fixture).deletes},
	})
}

func (w *fixture) acceptsUpstream(ctx context.Context) {
	objects := w.Objects(filepath.Join(w.release, "examples", "templates", "vmware", "cluster-template.yaml"), map[string]string{
		"CONTROL_PLANE_MACHINE_COUNT": strconv.Itoa(replicas), "WORKER_MACHINE_COUNT": "0", "RKE2_VERSION": binaries.KubernetesVersion + "+rke2r1",
		"VSPHERE_DATASTORE": "datastore-a", "VSPHERE_RESOURCE_POOL": "*/Resources", "VSPHERE_SSH_AUTHORIZED_KEY": "", "CPI_IMAGE_K8S_VERSION": "v1.35.0",
	})
	w.Expect(objects).NotTo(BeEmpty())
	policy := []string{"spec", "template", "spec", "storagePolicyName"}
	for _, object := range objects {
		// The template gives an empty name, which the API rejects.
		if text, found, _ := unstructured.NestedString(object.Object, policy...); found && text == "" {
			unstructured.RemoveNestedField(object.Object, policy...)
		}
		w.Expect(w.Client.Create(ctx, object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))).
			To(Succeed(), "%s %s", object.GetKind(), object.GetName())
	}
}

func (w *fixture) create(ctx context.Context) {
	w.Create(ctx, "vsphere/cluster-template-zones-rke2.yaml", map[string]string{"WORKER_MACHINE_COUNT": "0", "FAILURE_DOMAIN_REBALANCE": "SurgeOne"})
	w.Until(ctx, w.in(map[string]int{"zone-a": 1, "zone-b": 1, "zone-c": 1}))
}

// in returns a check that the control plane is complete and ready, with these numbers of machines in zones. It fails if too many machines
// exist, or if etcd has lost its majority since it had one.
func (w *fixture) in(want map[string]int) func(context.Context) (string, error) {
	formed := false
	return func(ctx context.Context) (string, error) {
		list := &clusterv1.MachineList{}
		if err := w.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return "", err
		}
		if len(list.Items) > replicas+1 {
			return "", &provider.Violation{Rule: fmt.Sprintf("%d machines at the same time", len(list.Items))}
		}
		members, err := w.Workload.Members(ctx, client.ObjectKey{Namespace: namespace, Name: name})
		if err != nil {
			return "", err
		}
		healthy := 0
		for _, member := range members {
			if member.Healthy {
				healthy++
			}
		}
		formed = formed || healthy >= quorum
		if formed && healthy < quorum {
			return "", &provider.Violation{Rule: fmt.Sprintf("%d healthy etcd members of %v", healthy, members)}
		}
		return placed(list.Items, want), nil
	}
}

// placed returns what is missing until the machines are complete, ready and where they should be.
func placed(list []clusterv1.Machine, want map[string]int) string {
	is, waits := map[string]int{}, ""
	for i := range list {
		is[list[i].Spec.FailureDomain]++
		if ready := conditions.Get(&list[i], clusterv1.MachineReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
			waits = fmt.Sprintf("Machine %s is not ready: %+v", list[i].Name, ready)
		}
	}
	if !maps.Equal(is, want) {
		return fmt.Sprintf("machines are in %v, not %v; %s", is, want, waits)
	}
	return waits
}

func (w *fixture) evicts(ctx context.Context) {
	w.intend(ctx, faultlinev1.FailureDomainIntent{Name: "zone-c", State: faultlinev1.DomainEvicting})
	first, second := w.in(map[string]int{"zone-a": 2, "zone-b": 1}), w.in(map[string]int{"zone-a": 1, "zone-b": 2})
	w.Until(ctx, func(ctx context.Context) (string, error) {
		missing, err := first(ctx)
		if missing == "" || err != nil {
			return missing, err
		}
		return second(ctx)
	})
}

func (w *fixture) returns(ctx context.Context) {
	w.intend(ctx)
	w.Until(ctx, w.in(map[string]int{"zone-a": 1, "zone-b": 1, "zone-c": 1}))
}

// intend sets the intents of the cluster, and that moves follow soon.
func (w *fixture) intend(ctx context.Context, intents ...faultlinev1.FailureDomainIntent) {
	cluster := &infrav1.VSphereCluster{}
	w.Expect(w.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster)).To(Succeed())
	before := cluster.DeepCopy()
	cluster.Spec.Distribution.FailureDomains = intents
	cluster.Spec.Distribution.ControlPlane.StabilizationSeconds = new(int32(5))
	w.Expect(w.Client.Patch(ctx, cluster, client.MergeFrom(before))).To(Succeed())
}

func (w *fixture) deletes(ctx context.Context) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.Expect(w.Client.Delete(ctx, cluster)).To(Succeed())
	w.Until(ctx, func(ctx context.Context) (string, error) {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "the Cluster exists", err
	})
	left, err := w.vcenter.Leftovers(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(left).To(BeEmpty())
}
