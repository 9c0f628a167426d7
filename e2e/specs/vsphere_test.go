//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/kind"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// vSphere is the provider for vCenter. Zones and compute clusters have the same names in the simulated one.
type vSphere struct{}

func (vSphere) addToScheme(s *runtime.Scheme) error { return infrav1.AddToScheme(s) }
func (vSphere) namespace() string                   { return "capv-system" }
func (vSphere) certificate() string                 { return "capv-webhook-service-cert" }
func (vSphere) domains() []string                   { return []string{"zone-a", "zone-b", "zone-c"} }

func (vSphere) described() []string {
	return []string{"VSphereCluster ", "FailureDomainsReady", "VirtualMachineProvisioned"}
}

func (vSphere) clusterKind() string { return "VSphereCluster" }

func (vSphere) kinds() map[schema.GroupVersionKind]string {
	version := infrav1.GroupVersion
	return map[schema.GroupVersionKind]string{
		version.WithKind("VSphereCluster"):         clusterv1.ReadyCondition,
		version.WithKind("VSphereMachine"):         clusterv1.ReadyCondition,
		version.WithKind("VSphereMachineTemplate"): "",
		version.WithKind("VSphereVM"):              clusterv1.ReadyCondition,
		version.WithKind("VSphereDeploymentZone"):  clusterv1.ReadyCondition,
		version.WithKind("VSphereFailureDomain"):   "",
	}
}

// shared are the zones: an administrator makes them, not who makes a cluster.
func (vSphere) shared() []string { return []string{"VSphereFailureDomain", "VSphereDeploymentZone"} }

func (vSphere) prepare(context.Context, string) {}

func (vSphere) shortenGrace(ctx context.Context, g Gomega, namespace, name string) {
	cluster := &infrav1.VSphereCluster{}
	g.Expect(management.GetClient().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster)).To(Succeed())
	cluster.Spec.Distribution.GracePeriodSeconds, cluster.Spec.Distribution.HoldPeriodSeconds = ptr.To[int32](1), ptr.To[int32](1)
	g.Expect(management.GetClient().Update(ctx, cluster)).To(Succeed())
}

func (vSphere) observed(ctx context.Context, g Gomega, namespace string) map[string]string {
	machines := &infrav1.VSphereMachineList{}
	g.Expect(management.GetClient().List(ctx, machines, client.InNamespace(namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel})).To(Succeed())
	domains := map[string]string{}
	for i := range machines.Items {
		domains[machines.Items[i].Name] = ptr.Deref(machines.Items[i].Status.FailureDomain, "")
	}
	return domains
}

func (vSphere) places(ctx context.Context, cluster string) map[string]string {
	return connect(ctx).clusterOf(ctx, cluster)
}

func (vSphere) machines(ctx context.Context, cluster string) map[string]any {
	return connect(ctx).machines(ctx, cluster)
}

// handOver has nobody to stop: a vCenter does what it is told, by whomever.
func (vSphere) handOver(_ context.Context, _ *kind.Environment, move func()) { move() }

// setBroken puts all hosts of the zone's compute cluster into maintenance mode, or takes them out of it.
func (vSphere) setBroken(ctx context.Context, domain string, broken bool) {
	connect(ctx).setMaintenance(ctx, domain, broken)
}
