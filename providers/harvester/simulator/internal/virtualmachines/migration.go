// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

const (
	migrationPoll = 20 * time.Millisecond
	// migrationTimeout is added to the time of a migration.
	migrationTimeout = time.Minute
	// stoppedBy on a virtual machine is the host that was drained, and stoppedFrom the run strategy that it had before.
	stoppedBy   = "simulator.harvesterhci.io/stopped-by-drain-of"
	stoppedFrom = "simulator.harvesterhci.io/run-strategy-before"
)

// errMigration is returned for a virtual machine that stays on its host.
var errMigration = errors.New("migration failed")

// Migrations executes live migrations of a Harvester cluster.
type Migrations struct {
	client client.Client
	hosts  *cluster.Hosts
	now    func() time.Time
	delay  time.Duration
}

// NewMigrations returns Migrations that use an administrator's client and take the given time.
func NewMigrations(c client.Client, on *cluster.Hosts, now func() time.Time, delay time.Duration) *Migrations {
	return &Migrations{client: c, hosts: on, now: now, delay: delay}
}

// Migrate live migrates a virtual machine to a host, or to any other host if it is "", and waits for completion. kube-scheduler
// decides: if no host is suitable, the virtual machine stays, and Migrate returns the reason.
func (m *Migrations) Migrate(ctx context.Context, vm client.ObjectKey, host string) error {
	suffix := strings.ToLower(rand.Text()[:8])
	vmi := &kubevirtv1.VirtualMachineInstance{}
	err := controllers.RetryOnConflict(func() error {
		if err := m.client.Get(ctx, vm, vmi); err != nil {
			return fmt.Errorf("reading instance: %w", err)
		}
		if vmi.Status.Phase != kubevirtv1.Running {
			return fmt.Errorf("%w: %s is %s, not running", errMigration, vm, vmi.Status.Phase)
		}
		vmi.Status.MigrationState = &kubevirtv1.VirtualMachineInstanceMigrationState{
			MigrationUID: types.UID(suffix), SourceNode: vmi.Status.NodeName, TargetPod: PodName(vmi, suffix),
			StartTimestamp: ptr.To(metav1.NewTime(m.now())),
		}
		return m.client.Update(ctx, vmi)
	})
	if err != nil {
		return err
	}
	target, err := m.target(ctx, vmi, suffix, host)
	if err != nil {
		return err
	}
	if err := m.client.Create(ctx, target); err != nil {
		return fmt.Errorf("creating pod: %w", err)
	}
	return m.waitForMigration(ctx, vm, target)
}

// target returns the Pod to migrate to.
func (m *Migrations) target(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance, suffix, host string) (*corev1.Pod, error) {
	pod := Pod(vmi, suffix)
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.PodAntiAffinity == nil {
		pod.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	apart := pod.Spec.Affinity.PodAntiAffinity
	apart.RequiredDuringSchedulingIgnoredDuringExecution = append(apart.RequiredDuringSchedulingIgnoredDuringExecution, corev1.PodAffinityTerm{
		TopologyKey:   corev1.LabelHostname,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{kubevirtv1.CreatedByLabel: string(vmi.UID)}},
	})
	if host == "" {
		return pod, nil
	}
	node := &corev1.Node{}
	if err := m.client.Get(ctx, client.ObjectKey{Name: host}, node); err != nil {
		return nil, fmt.Errorf("reading host: %w", err)
	}
	pod.Spec.NodeSelector[corev1.LabelHostname] = node.Labels[corev1.LabelHostname]
	return pod, nil
}

// waitForMigration waits until a migration is over. A migration whose Pod is unschedulable fails.
func (m *Migrations) waitForMigration(ctx context.Context, vm client.ObjectKey, target *corev1.Pod) error {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	err := wait.PollUntilContextTimeout(ctx, migrationPoll, m.delay+migrationTimeout, true, func(ctx context.Context) (bool, error) {
		*vmi = kubevirtv1.VirtualMachineInstance{}
		if err := m.client.Get(ctx, vm, vmi); err != nil {
			return false, fmt.Errorf("reading instance: %w", err)
		}
		state := vmi.Status.MigrationState
		switch {
		case state == nil || state.TargetPod != target.Name || state.Failed:
			return false, errMigration
		case state.Completed:
			return true, nil
		}
		if err := m.client.Get(ctx, client.ObjectKeyFromObject(target), target); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("reading pod: %w", err)
		}
		for _, condition := range target.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
				return false, m.failMigration(ctx, vmi, target, condition.Message)
			}
		}
		return false, nil
	})
	if wait.Interrupted(err) {
		return m.failMigration(ctx, vmi, target, fmt.Sprintf("the pod %s is %s on host %q", target.Name, target.Status.Phase, target.Spec.NodeName))
	}
	return err
}

func (m *Migrations) failMigration(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance, target *corev1.Pod, why string) error {
	err := controllers.RetryOnConflict(func() error {
		if err := m.client.Get(ctx, client.ObjectKeyFromObject(vmi), vmi); err != nil {
			return err
		}
		state := vmi.Status.MigrationState
		if state == nil || state.TargetPod != target.Name || state.Completed {
			return nil
		}
		state.Failed, state.FailureReason, state.EndTimestamp = true, why, ptr.To(metav1.NewTime(m.now()))
		return m.client.Update(ctx, vmi)
	})
	if err == nil {
		err = client.IgnoreNotFound(m.client.Delete(ctx, target, client.GracePeriodSeconds(0)))
	}
	return errors.Join(fmt.Errorf("%w: %s", errMigration, why), err)
}

// Drain cordons a host and evacuates it as Harvester does for an upgrade: virtual machines are migrated. A virtual machine whose
// required node affinity matches no other host is shut down without an attempt, whatever kube-scheduler would decide, and starts
// again with Restart. A virtual machine whose migration fails, because it fits on no other host, keeps running on the drained
// host.
func (m *Migrations) Drain(ctx context.Context, host string) error {
	if err := m.hosts.Cordon(ctx, host); err != nil {
		return err
	}
	instances, nodes := &kubevirtv1.VirtualMachineInstanceList{}, &corev1.NodeList{}
	if err := m.client.List(ctx, instances, client.MatchingLabels{kubevirtv1.NodeNameLabel: host}); err != nil {
		return fmt.Errorf("listing instances: %w", err)
	}
	if err := m.client.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing hosts: %w", err)
	}
	for i := range instances.Items {
		vmi := &instances.Items[i]
		if vmi.Status.NodeName != host || vmi.DeletionTimestamp != nil {
			continue
		}
		if migratable(vmi, nodes.Items) {
			err := m.Migrate(ctx, client.ObjectKeyFromObject(vmi), "")
			if client.IgnoreNotFound(err) != nil && !errors.Is(err, errMigration) {
				return err
			}
			continue
		}
		if err := m.shutDown(ctx, client.ObjectKeyFromObject(vmi), host); err != nil {
			return err
		}
	}
	return nil
}

// migratable reports whether another schedulable host satisfies the node requirements of the instance. Other virtual machines are
// ignored.
func migratable(vmi *kubevirtv1.VirtualMachineInstance, nodes []corev1.Node) bool {
	for i := range nodes {
		node := &nodes[i]
		available := node.Name != vmi.Status.NodeName && !node.Spec.Unschedulable && cluster.HostReady(node) && node.Labels[kubevirtv1.NodeSchedulable] == "true"
		if available && cluster.MatchesNode(&vmi.Spec, node) {
			return true
		}
	}
	return false
}

func (m *Migrations) shutDown(ctx context.Context, key client.ObjectKey, host string) error {
	return controllers.RetryOnConflict(func() error {
		vm := &kubevirtv1.VirtualMachine{}
		if err := m.client.Get(ctx, key, vm); err != nil {
			return client.IgnoreNotFound(err)
		}
		strategy, err := vm.RunStrategy()
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, stoppedBy, host)
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, stoppedFrom, string(strategy))
		vm.Spec.Running, vm.Spec.RunStrategy = nil, ptr.To(kubevirtv1.RunStrategyHalted)
		return m.client.Update(ctx, vm)
	})
}

// Restart starts the virtual machines that the drain of a host has shut down.
func (m *Migrations) Restart(ctx context.Context, host string) error {
	vms := &kubevirtv1.VirtualMachineList{}
	if err := m.client.List(ctx, vms); err != nil {
		return fmt.Errorf("listing virtual machines: %w", err)
	}
	for i := range vms.Items {
		if vms.Items[i].Annotations[stoppedBy] != host {
			continue
		}
		err := controllers.RetryOnConflict(func() error {
			vm := &kubevirtv1.VirtualMachine{}
			if err := m.client.Get(ctx, client.ObjectKeyFromObject(&vms.Items[i]), vm); err != nil {
				return client.IgnoreNotFound(err)
			}
			vm.Spec.RunStrategy = ptr.To(kubevirtv1.VirtualMachineRunStrategy(vm.Annotations[stoppedFrom]))
			delete(vm.Annotations, stoppedBy)
			delete(vm.Annotations, stoppedFrom)
			return m.client.Update(ctx, vm)
		})
		if err != nil {
			return fmt.Errorf("restarting %s: %w", vms.Items[i].Name, err)
		}
	}
	return nil
}
