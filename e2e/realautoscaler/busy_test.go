//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package realautoscaler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/environment"
	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const (
	// spread is the MachineDeployment without a failure domain.
	spread = "spread"
	// perDomain is its number of machines in each failure domain at first.
	perDomain = 2
	// moveLimit is longer than the manager waits until it moves a worker of an uneven MachineDeployment.
	moveLimit = 30 * time.Second
)

// levelsNothing lets the autoscaler remove idle machines of a MachineDeployment until those of one failure domain are left, which
// run Pods. DeleteOne would level them if another program did not scale the MachineDeployment.
func (w *fixture) levelsNothing(ctx context.Context) {
	w.Expect(w.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: environment.Namespace, Name: fits}})).To(Succeed())
	w.Go(ctx, "Nodes", w.mirrorNodes)
	md := w.spreadDeployment(ctx)
	w.Expect(w.Client.Create(ctx, md)).To(Succeed())
	busy := map[types.UID]string{}
	w.Until(ctx, func(ctx context.Context) (string, error) {
		counts := map[string]int{}
		list, err := w.spreadMachines(ctx)
		for i := range list {
			if is := &list[i]; is.Status.NodeRef.IsDefined() {
				counts[is.Status.FailureDomain]++
				if is.Status.FailureDomain == w.about.Domains[0] {
					busy[is.UID] = is.Status.NodeRef.Name
				}
			}
		}
		if slices.ContainsFunc(w.about.Domains, func(name string) bool { return counts[name] != perDomain }) {
			return fmt.Sprintf("the Nodes of %s are %v", spread, counts), err
		}
		return "", err
	})
	for _, node := range busy {
		w.run(ctx, node)
	}
	w.Expect(w.Client.Patch(ctx, &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: md.Namespace, Name: md.Name}},
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+minimum+`":"1"}}}`)))).To(Succeed())

	w.Until(ctx, func(ctx context.Context) (string, error) {
		list, err := w.spreadMachines(ctx)
		if len(list) != len(busy) {
			return fmt.Sprintf("%d machines of %s are left", len(list), spread), err
		}
		return "", err
	})
	w.Until(ctx, func(ctx context.Context) (string, error) {
		condition, err := w.workersBalanced(ctx)
		if !strings.Contains(condition.Message, "MachineDeployment "+spread+" is scaled by the cluster autoscaler") {
			return fmt.Sprintf("WorkersBalanced is %s: %s", condition.Reason, condition.Message), err
		}
		return "", err
	})
	w.Consistently(ctx, func(g Gomega) {
		list, err := w.spreadMachines(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for i := range list {
			g.Expect(busy).To(HaveKey(list[i].UID), "the machines with Pods stay")
			g.Expect(list[i].DeletionTimestamp).To(BeNil(), list[i].Name)
		}
		g.Expect(list).To(HaveLen(len(busy)))
	}).WithTimeout(moveLimit).WithPolling(time.Second).Should(Succeed())
}

// spreadDeployment returns a copy of a MachineDeployment of the template, without a failure domain. The autoscaler must not remove any
// of its machines at first.
func (w *fixture) spreadDeployment(ctx context.Context) *clusterv1.MachineDeployment {
	list := &clusterv1.MachineDeploymentList{}
	w.Expect(w.Client.List(ctx, list)).To(Succeed())
	w.Expect(list.Items).NotTo(BeEmpty())
	all := perDomain * len(w.about.Domains)
	md := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: environment.Namespace, Name: spread, Annotations: scaled(all, all)},
		Spec:       list.Items[0].Spec,
	}
	md.Spec.Replicas = ptr.To(int32(all))
	md.Spec.Selector = metav1.LabelSelector{}
	md.Spec.Template.Labels, md.Spec.Template.Spec.FailureDomain = nil, ""
	return md
}

func (w *fixture) spreadMachines(ctx context.Context) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	err := w.Client.List(ctx, list, client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: spread})
	return list.Items, err
}

// workersBalanced returns the condition of the infrastructure cluster.
func (w *fixture) workersBalanced(ctx context.Context) (metav1.Condition, error) {
	infra := w.about.Of(w.about.ClusterKind)
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: environment.Namespace, Name: environment.Name}, infra); err != nil {
		return metav1.Condition{}, err
	}
	condition, err := conditions.UnstructuredGet(infra, faultlinev1.WorkersBalancedCondition)
	return ptr.Deref(condition, metav1.Condition{}), err
}

// mirrorNodes keeps a Node in the management cluster for each worker that has one, because the autoscaler reads Nodes there.
func (w *fixture) mirrorNodes(ctx context.Context) error {
	for {
		if err := w.mirror(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if err := provider.Pause(ctx, time.Second); err != nil {
			return nil //nolint:nilerr // The environment ends.
		}
	}
}

func (w *fixture) mirror(ctx context.Context) error {
	machines, nodes := &clusterv1.MachineList{}, &corev1.NodeList{}
	if err := w.Client.List(ctx, machines, client.HasLabels{clusterv1.MachineDeploymentNameLabel}); err != nil {
		return err
	}
	if err := w.Client.List(ctx, nodes); err != nil {
		return err
	}
	missing := map[string]*clusterv1.Machine{}
	for i := range machines.Items {
		if name := machines.Items[i].Status.NodeRef.Name; name != "" {
			missing[name] = &machines.Items[i]
		}
	}
	for i := range nodes.Items {
		if _, exists := missing[nodes.Items[i].Name]; exists {
			delete(missing, nodes.Items[i].Name)
		} else if err := w.Client.Delete(ctx, &nodes.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	for name, machine := range missing {
		if err := w.createNode(ctx, name, machine); err != nil {
			return fmt.Errorf("creating Node %s: %w", name, err)
		}
	}
	return nil
}

// createNode creates the Node of a machine, without the taint that the API server adds until the Node is ready.
func (w *fixture) createNode(ctx context.Context, name string, machine *clusterv1.Machine) error {
	resources := maps.Clone(w.capacity)
	resources[corev1.ResourcePods] = resource.MustParse("110")
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: machine.Status.FailureDomain,
			corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		}},
		Spec: corev1.NodeSpec{ProviderID: machine.Spec.ProviderID},
	}
	if err := w.Client.Create(ctx, node); err != nil {
		return err
	}
	node.Status = corev1.NodeStatus{Capacity: resources, Allocatable: resources, Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}}
	if err := w.Client.Status().Update(ctx, node); err != nil {
		return err
	}
	before := node.DeepCopy()
	node.Spec.Taints = nil
	return w.Client.Patch(ctx, node, client.MergeFrom(before))
}

// run creates a Pod that runs on a Node and cannot be evicted, because no controller would create another.
func (w *fixture) run(ctx context.Context, node string) {
	spec := podSpec(w.fitting())
	spec.NodeName = node
	w.createPod(ctx, "on-"+node, spec, corev1.PodRunning, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
}
