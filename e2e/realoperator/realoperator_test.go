//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package realoperator runs our bare-metal provider with upstream's bare-metal operator: the real program with the CRDs, RBAC rules and
// webhooks of its release.
package realoperator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/environment"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/metal3"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator/ironic"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const (
	namespace, name = environment.Namespace, environment.Name
	// hostsPerRack allows for a control-plane machine, a worker, and a replacement.
	hostsPerRack = 4
	// lost is the rack that loses power; it has no worker.
	lost = "rack-c"
	// machines is the number of machines in the template: three of the control plane and two workers.
	machines = 5
)

// fixture is a part of the test.
type fixture struct {
	*environment.Fixture
	racks *metal3.OperatorSimulation
}

func TestTheRealOperator(t *testing.T) {
	g := NewWithT(t)
	operator := metal3.OperatorOf()
	g.Expect(operator.Program).NotTo(BeEmpty(), "FAULTLINE_BMO must name the program of the bare-metal operator")
	g.Expect(operator.Release).NotTo(BeEmpty(), "FAULTLINE_BMO_RELEASE must name the kustomize folder of its release")
	racks, err := metal3.NewOperatorSimulation(hostsPerRack, operator)
	g.Expect(err).NotTo(HaveOccurred())
	options := environment.Options{Provider: metal3.Provider{}, Infrastructure: func(string) (provider.Infrastructure, error) { return racks, nil }}
	environment.Sequence(t, options, func(f *environment.Fixture) *fixture {
		return &fixture{Fixture: f, racks: racks}
	}, []environment.Part[*fixture]{
		{Name: "creates a cluster over three racks", Run: (*fixture).create},
		{Name: "copies labels of hosts to Nodes", Run: (*fixture).copiesLabels},
		{Name: "gives a worker's successor the same host", Run: (*fixture).reusesHost},
		{Name: "remediates a worker by a reboot", Run: (*fixture).remediates},
		{Name: "pauses hosts with their cluster", Run: (*fixture).pauses},
		{Name: "takes a host over that was moved", Run: (*fixture).moves},
		{Name: "cordons a rack without power", Run: (*fixture).cordonsRackWithoutPower},
		{Name: "lets a machine go whose host was detached by force", Run: (*fixture).detaches},
		{Name: "uses the rack again when it has power", Run: (*fixture).returns},
		{Name: "leaves nothing on the hosts of a deleted cluster", Run: (*fixture).deletes},
	})
}

func (w *fixture) create(ctx context.Context) {
	w.Create(ctx, "metal3/cluster-template.yaml", map[string]string{"METAL3_NODE_REUSE": "true"})
	w.Until(ctx, w.complete)
	racks := map[string]int{}
	list := w.machines(ctx)
	for i := range list {
		host := w.hostOf(ctx, list[i].Name)
		w.Expect(list[i].Spec.ProviderID).To(Equal(fmt.Sprintf("metal3://%s/%s/%s", namespace, host.Name, list[i].Name)))
		node := w.node(ctx, list[i].Status.NodeRef.Name)
		w.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, host.Labels[infrav1.FailureDomainLabel]))
		if _, controlPlane := list[i].Labels[clusterv1.MachineControlPlaneLabel]; controlPlane {
			racks[host.Labels[infrav1.FailureDomainLabel]]++
		}
	}
	w.Expect(racks).To(Equal(map[string]int{"rack-a": 1, "rack-b": 1, "rack-c": 1}))
}

// complete returns what is missing until the cluster has all of its machines, ready.
func (w *fixture) complete(ctx context.Context) (string, error) {
	list := &clusterv1.MachineList{}
	if err := w.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	if len(list.Items) != machines {
		return fmt.Sprintf("%d machines, not %d", len(list.Items), machines), nil
	}
	for i := range list.Items {
		if !list.Items[i].DeletionTimestamp.IsZero() {
			return fmt.Sprintf("Machine %s is being deleted", list.Items[i].Name), nil
		}
		if ready := conditions.Get(&list.Items[i], clusterv1.MachineReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
			return fmt.Sprintf("Machine %s is not ready: %+v", list.Items[i].Name, ready), nil
		}
	}
	return "", nil
}

func (w *fixture) copiesLabels(ctx context.Context) {
	cluster := &infrav1.Metal3Cluster{}
	w.edit(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster, func() {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.LabelSyncPrefixesAnnotation, "rack.example.com")
	})
	machine := w.worker(ctx, "md-a")
	host := w.hostOf(ctx, machine.Name)
	w.edit(ctx, client.ObjectKeyFromObject(host), host, func() { host.Labels["rack.example.com/row"] = "7" })
	has := func(want string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			if got := w.node(ctx, machine.Status.NodeRef.Name).Labels["rack.example.com/row"]; got != want {
				return fmt.Sprintf("the Node's label is %q", got), nil
			}
			return "", nil
		}
	}
	w.Until(ctx, has("7"))
	w.edit(ctx, client.ObjectKeyFromObject(host), host, func() { delete(host.Labels, "rack.example.com/row") })
	w.Until(ctx, has(""))
}

func (w *fixture) reusesHost(ctx context.Context) {
	before := w.worker(ctx, "md-a")
	host := w.hostOf(ctx, before.Name)
	deployment := &clusterv1.MachineDeployment{}
	w.edit(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-md-a"}, deployment, func() {
		deployment.Spec.Rollout.Strategy = clusterv1.MachineDeploymentRolloutStrategy{
			Type:          clusterv1.RollingUpdateMachineDeploymentStrategyType,
			RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1))},
		}
		deployment.Spec.Rollout.After = metav1.Now()
	})
	w.Until(ctx, func(ctx context.Context) (string, error) {
		if missing, err := w.complete(ctx); missing != "" || err != nil {
			return missing, err
		}
		if w.worker(ctx, "md-a").UID == before.UID {
			return "the worker has not been replaced", nil
		}
		return "", nil
	})
	w.Expect(w.hostOf(ctx, w.worker(ctx, "md-a").Name).Name).To(Equal(host.Name))
}

func (w *fixture) remediates(ctx context.Context) {
	template := &infrav1.Metal3RemediationTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reboot"}}
	template.Spec.Template.Spec.Strategy = infrav1.RemediationStrategy{Type: infrav1.RebootRemediation, RetryLimit: 1, TimeoutSeconds: 300}
	check := &clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-md-b"}}
	check.Spec.ClusterName = name
	check.Spec.Selector = metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.MachineDeploymentNameLabel: name + "-md-b"}}
	check.Spec.Checks.UnhealthyNodeConditions = []clusterv1.UnhealthyNodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, TimeoutSeconds: ptr.To[int32](1)},
	}
	check.Spec.Remediation.TemplateRef = clusterv1.MachineHealthCheckRemediationTemplateReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3RemediationTemplate", Name: template.Name,
	}
	w.Expect(w.Client.Create(ctx, template)).To(Succeed())
	w.Expect(w.Client.Create(ctx, check)).To(Succeed())
	machine := w.worker(ctx, "md-b")
	host := w.hostOf(ctx, machine.Name)
	w.Expect(w.Workload.SetNodeReady(ctx, client.ObjectKeyFromObject(&machine), false)).To(Succeed())
	powered := func(want bool) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			if w.hostOf(ctx, machine.Name).Status.PoweredOn != want {
				return fmt.Sprintf("poweredOn of host %s is not %t", host.Name, want), nil
			}
			return "", nil
		}
	}
	w.Until(ctx, powered(false))
	w.Until(ctx, powered(true))
	w.Until(ctx, w.complete)
	w.Expect(w.worker(ctx, "md-b").UID).To(Equal(machine.UID), "the reboot was enough")
	w.Expect(w.Client.Delete(ctx, check)).To(Succeed())
}

func (w *fixture) pauses(ctx context.Context) {
	w.pause(ctx, true)
	w.Until(ctx, func(ctx context.Context) (string, error) { return w.paused(ctx, true) })
	w.pause(ctx, false)
	w.Until(ctx, func(ctx context.Context) (string, error) { return w.paused(ctx, false) })
}

func (w *fixture) pause(ctx context.Context, paused bool) {
	cluster := &clusterv1.Cluster{}
	w.edit(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster, func() { cluster.Spec.Paused = ptr.To(paused) })
}

// paused returns a host in use whose pause annotation differs from want.
func (w *fixture) paused(ctx context.Context, want bool) (string, error) {
	for _, host := range w.hosts(ctx) {
		_, paused := host.Annotations[bmov1alpha1.PausedAnnotation]
		if host.Spec.ConsumerRef != nil && paused != want {
			return fmt.Sprintf("paused of host %s is not %t", host.Name, want), nil
		}
	}
	return "", nil
}

// moves does to a host what clusterctl move does: while the cluster is paused, it deletes the host's object without its finalizers and
// recreates it with the annotation that keeps its status. The source cannot reach Ironic meanwhile, and Ironic has lost its database
// afterwards.
func (w *fixture) moves(ctx context.Context) {
	w.pause(ctx, true)
	w.Until(ctx, func(ctx context.Context) (string, error) { return w.paused(ctx, true) })
	machine := w.worker(ctx, "md-a")
	host := w.hostOf(ctx, machine.Name)
	w.Expect(host.Annotations).To(HaveKey(bmov1alpha1.StatusAnnotation))
	node := host.Status.Provisioning.ID
	w.Expect(w.racks.Ironic().SetFault(ctx, "down", true)).To(Succeed())
	w.Expect(w.Client.Delete(ctx, host.DeepCopy())).To(Succeed())
	w.edit(ctx, client.ObjectKeyFromObject(host), host.DeepCopy(), nil)
	moved := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: host.Name, Labels: host.Labels, Annotations: host.Annotations, OwnerReferences: host.OwnerReferences,
	}, Spec: host.Spec}
	w.Expect(w.Client.Create(ctx, moved)).To(Succeed())
	w.Expect(w.racks.Ironic().SetFault(ctx, "down", false)).To(Succeed())
	w.pause(ctx, false)
	w.Until(ctx, func(ctx context.Context) (string, error) {
		now := w.hostOf(ctx, machine.Name)
		if now.Status.Provisioning.State != bmov1alpha1.StateProvisioned || now.Status.OperationalStatus != bmov1alpha1.OperationalStatusOK {
			return fmt.Sprintf("host %s is %s, %s", now.Name, now.Status.Provisioning.State, now.Status.OperationalStatus), nil
		}
		return "", nil
	})
	w.Expect(w.hostOf(ctx, machine.Name).Status.Provisioning.ID).To(Equal(node))
	w.Expect(w.runs(host.Name)).To(BeTrue(), "the machine has never stopped")
	w.Until(ctx, w.complete)
	w.Expect(w.worker(ctx, "md-a").UID).To(Equal(machine.UID))
}

// runs reports whether a machine runs on a host.
func (w *fixture) runs(host string) bool {
	return slices.ContainsFunc(w.racks.Ironic().Machines(), func(m ironic.Machine) bool { return m.Name == namespace+"~"+host && m.Runs != nil })
}

func (w *fixture) cordonsRackWithoutPower(ctx context.Context) {
	w.Expect(w.racks.Break(ctx, lost)).NotTo(BeEmpty())
	w.Until(ctx, func(ctx context.Context) (string, error) { return w.rackIs(ctx, faultlinev1.DomainCordoned) })
	cluster := &infrav1.Metal3Cluster{}
	w.Expect(w.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster)).To(Succeed())
	ready := conditions.Get(cluster, infrav1.Metal3ClusterFailureDomainsReadyCondition)
	w.Expect(ready.Message).To(And(ContainSubstring(lost), ContainSubstring("power")))
	// The operator itself still reports these hosts as existing and powered on.
	for _, host := range w.hosts(ctx) {
		if host.Labels[infrav1.FailureDomainLabel] == lost {
			w.Expect(host.Status.OperationalStatus).To(Equal(bmov1alpha1.OperationalStatusOK))
			w.Expect(apimeta.IsStatusConditionFalse(host.Status.Conditions, bmov1alpha1.ManageableCondition)).To(BeTrue(), "%+v", host.Status.Conditions)
		}
	}
}

// rackIs returns what is missing until the lost rack is in a state.
func (w *fixture) rackIs(ctx context.Context, want faultlinev1.DomainState) (string, error) {
	cluster := &infrav1.Metal3Cluster{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
		return "", err
	}
	for _, domain := range cluster.Status.Distribution.FailureDomains {
		if domain.Name == lost && domain.State == want {
			return "", nil
		}
	}
	return fmt.Sprintf("%s is not %s: %+v", lost, want, cluster.Status.Distribution.FailureDomains), nil
}

// detaches deletes the machine of the rack without power, and then does what its condition asks for.
func (w *fixture) detaches(ctx context.Context) {
	var machine clusterv1.Machine
	for _, one := range w.machines(ctx) {
		if one.Spec.FailureDomain == lost {
			machine = one
		}
	}
	host := w.hostOf(ctx, machine.Name)
	w.Expect(w.Client.Delete(ctx, &machine)).To(Succeed())
	w.Until(ctx, func(ctx context.Context) (string, error) {
		infra := &infrav1.Metal3Machine{}
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: machine.Spec.InfrastructureRef.Name}, infra); err != nil {
			return "", err
		}
		waits := conditions.Get(infra, infrav1.Metal3MachineAssociateBareMetalHostCondition)
		if waits == nil || !strings.Contains(waits.Message, "delete the BareMetalHost") || !strings.Contains(waits.Message, `{"force":true}`) {
			return fmt.Sprintf("the condition does not name the remedy: %+v", waits), nil
		}
		w.Log(waits.Message)
		return "", nil
	})
	notes, err := w.racks.ReleaseHost(ctx, host.Name)
	w.Expect(err).NotTo(HaveOccurred())
	w.Log(notes)
	w.Until(ctx, w.complete)
	for _, one := range w.machines(ctx) {
		w.Expect(one.UID).NotTo(Equal(machine.UID))
		w.Expect(w.hostOf(ctx, one.Name).Labels[infrav1.FailureDomainLabel]).NotTo(Equal(lost))
	}
}

func (w *fixture) returns(ctx context.Context) {
	_, err := w.racks.Repair(ctx, lost)
	w.Expect(err).NotTo(HaveOccurred())
	w.Until(ctx, func(ctx context.Context) (string, error) { return w.rackIs(ctx, faultlinev1.DomainActive) })
}

func (w *fixture) deletes(ctx context.Context) {
	w.Expect(w.Client.Delete(ctx, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
	w.Until(ctx, w.racks.Leftovers)
	for _, host := range w.hosts(ctx) {
		w.Expect(host.Spec.Image).To(BeNil())
		w.Expect(host.Spec.UserData).To(BeNil())
		w.Expect(host.Annotations).NotTo(HaveKey(bmov1alpha1.PausedAnnotation))
	}
}

// edit changes an object and retries on conflict. Without a change it removes its finalizers.
func (w *fixture) edit(ctx context.Context, key client.ObjectKey, object client.Object, change func()) {
	w.Helper()
	if change == nil {
		change = func() { object.SetFinalizers(nil) }
	}
	w.Eventually(func() error {
		if err := w.Client.Get(ctx, key, object); err != nil {
			return err
		}
		change()
		return w.Client.Update(ctx, object)
	}).WithContext(ctx).Should(Succeed())
}

func (w *fixture) machines(ctx context.Context) []clusterv1.Machine {
	w.Helper()
	list := &clusterv1.MachineList{}
	w.Expect(w.Client.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// worker returns the machine of a MachineDeployment that is not being deleted.
func (w *fixture) worker(ctx context.Context, deployment string) clusterv1.Machine {
	w.Helper()
	for _, machine := range w.machines(ctx) {
		if machine.Labels[clusterv1.MachineDeploymentNameLabel] == name+"-"+deployment && machine.DeletionTimestamp.IsZero() {
			return machine
		}
	}
	return clusterv1.Machine{}
}

func (w *fixture) hosts(ctx context.Context) []bmov1alpha1.BareMetalHost {
	w.Helper()
	list := &bmov1alpha1.BareMetalHostList{}
	w.Expect(w.Client.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// hostOf returns the host that a machine, or its Metal3Machine of the same name, consumes.
func (w *fixture) hostOf(ctx context.Context, machine string) *bmov1alpha1.BareMetalHost {
	w.Helper()
	hosts := w.hosts(ctx)
	i := slices.IndexFunc(hosts, func(h bmov1alpha1.BareMetalHost) bool {
		return h.Spec.ConsumerRef != nil && h.Spec.ConsumerRef.Name == machine
	})
	w.Expect(i).NotTo(Equal(-1), "no host is consumed by %s", machine)
	return &hosts[i]
}

func (w *fixture) node(ctx context.Context, node string) *corev1.Node {
	w.Helper()
	cluster, err := w.Workload.ClientFor(namespace, name)
	w.Expect(err).NotTo(HaveOccurred())
	found := &corev1.Node{}
	w.Expect(cluster.Get(ctx, client.ObjectKey{Name: node}, found)).To(Succeed())
	return found
}
