// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// prepare waits for the prerequisites of the machine. Until they exist, the machine has nothing on Harvester that its deletion would have
// to remove.
func (r *Reconciler) prepare(_ context.Context, s *scope) (reconcile.Progress, error) {
	switch {
	case s.infraCluster == nil && s.mayExist():
		unknown(s, infrav1.InfrastructureReadyCondition, infrav1.WaitingForHarvesterClusterReason,
			"The HarvesterCluster, which is needed to find the virtual machine, does not exist: create it again")
		return reconcile.Wait, nil
	case s.infraCluster == nil:
		notCreated(s, infrav1.WaitingForHarvesterClusterReason, "Waiting for the HarvesterCluster to exist")
		return reconcile.Wait, nil
	case s.mayExist():
	case s.identityWaitMessage() != "":
		notCreated(s, infrav1.AnnotationsRemovedReason, s.identityWaitMessage())
		return reconcile.Wait, nil
	case !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false), s.infraCluster.ID() == "":
		notCreated(s, infrav1.WaitingForClusterInfrastructureReadyReason, "Waiting for the Cluster's infrastructure to be provisioned")
		return reconcile.Wait, nil
	case s.machine.Spec.Bootstrap.DataSecretName == nil:
		notCreated(s, infrav1.WaitingForBootstrapDataReason, "Waiting for the Machine to have bootstrap data")
		return reconcile.Wait, nil
	}
	return reconcile.Proceed, nil
}

// identityWaitMessage returns why nothing is created for the HarvesterCluster: the metadata that identifies its objects is removed again.
// It returns "" if the metadata is stored.
func (s *scope) identityWaitMessage() string {
	why := conditions.Get(s.infraCluster, infrav1.InfrastructureReadyCondition)
	if why == nil || why.Reason != infrav1.AnnotationsRemovedReason {
		return ""
	}
	return "Waiting for the HarvesterCluster: " + why.Message
}

// connect gets the connection to Harvester. Nothing is decided without a connection, or while its caches may be stale. A missing right
// matters only when the machine reads that kind.
func (r *Reconciler) connect(ctx context.Context, s *scope) (reconcile.Progress, error) {
	conn, problem := r.Connections.Get(ctx, harvester.TargetOf(s.infraCluster), s.requester())
	if problem == nil {
		problem = conn.Stale()
	}
	if problem != nil {
		s.reportUnreadable(problem)
		return reconcile.Wait, nil
	}
	s.conn = conn
	return reconcile.Proceed, nil
}

// acquireSlot acquires a slot for requests to Harvester, which releaseSlot releases. If none is free, the machine is enqueued when
// one is. Reads from the cache need no slot.
func (s *scope) acquireSlot() reconcile.Progress {
	if s.release != nil {
		return reconcile.Proceed
	}
	exit, entered := s.conn.Enter(s.requester())
	if s.queued = !entered; s.queued {
		return reconcile.Wait
	}
	s.release = exit
	return reconcile.Proceed
}

// releaseSlot releases the slot for other machines on the same Harvester.
func (s *scope) releaseSlot() {
	if s.release != nil {
		s.release()
	}
}

// findVM reads the virtual machine, which may exist without being recorded, and lists the hosts of Harvester.
func (r *Reconciler) findVM(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.infra.Spec.ProviderID == "" {
		s.conn.Await(s.requester()) // before any read, so that events from now on also enqueue the machine
	}
	nodes := &corev1.NodeList{}
	if err := s.conn.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil { // the list is only read
		return reconcile.Wait, fmt.Errorf("listing hosts of Harvester: %w", err)
	}
	s.hosts = placement.Hosts(nodes.Items)
	vm, p, err := s.getVM(ctx)
	switch {
	case err != nil || p != reconcile.Proceed:
		return p, err
	case vm == nil && s.infra.Spec.ProviderID != "":
		message := fmt.Sprintf("VirtualMachine %s was deleted in Harvester: delete the Machine", s.vmKey())
		status.False(s.infra, infrav1.VMRunningCondition, infrav1.MachineNotFoundReason, message)
		status.False(s.infra, infrav1.InfrastructureReadyCondition, infrav1.MachineNotFoundReason, message)
		return r.hold(s, distribution.Refusal{Reason: infrav1.MachineNotFoundReason, Message: message}), nil
	case vm == nil:
		return s.acquireSlot(), nil // to create it
	case !virtualmachine.BelongsTo(vm, s.infra):
		return r.handleNameConflict(ctx, s, vm, r.findVM)
	}
	s.vm = vm
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := s.conn.Get(ctx, s.vmKey(), vmi); client.IgnoreNotFound(err) != nil {
		return reconcile.Wait, fmt.Errorf("reading VirtualMachineInstance %s: %w", s.vmKey(), err)
	} else if err == nil && metav1.IsControlledBy(vmi, vm) {
		s.vmi = vmi
	}
	return reconcile.Proceed, nil
}

// cacheTimeout is how long the informer may take to cache a new virtual machine.
const cacheTimeout = 5 * time.Second

// getVM returns the virtual machine with the machine's name; nil if it does not exist. If a recorded virtual machine is missing from the
// cache, get first waits for the informer, whose event enqueues the machine, and then reads from Harvester's API server. It also reads a
// virtual machine without an id there, because the cache holds only its name.
func (s *scope) getVM(ctx context.Context) (*kubevirtv1.VirtualMachine, reconcile.Progress, error) {
	vm := &kubevirtv1.VirtualMachine{}
	err := s.conn.Get(ctx, s.vmKey(), vm)
	if s.infra.Spec.ProviderID != "" && (apierrors.IsNotFound(err) || err == nil && vm.Labels[infrav1.MachineIDLabel] == "") {
		if wait := s.cacheWait(time.Now()); apierrors.IsNotFound(err) && wait > 0 {
			return nil, reconcile.Retry(wait), nil
		}
		if p := s.acquireSlot(); p != reconcile.Proceed {
			return nil, p, nil
		}
		vm = &kubevirtv1.VirtualMachine{}
		err = s.conn.Live().Get(ctx, s.vmKey(), vm)
	}
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Proceed, nil
	}
	if err != nil {
		return nil, reconcile.Wait, fmt.Errorf("reading VirtualMachine %s: %w", s.vmKey(), err)
	}
	return vm, reconcile.Proceed, nil
}

// cacheWait returns how much longer to wait for a new virtual machine to appear in the cache.
func (s *scope) cacheWait(now time.Time) time.Duration {
	created := conditions.Get(s.infra, infrav1.MachineCreatedCondition)
	if created == nil || created.Status != metav1.ConditionTrue {
		return 0
	}
	return max(0, cacheTimeout-now.Sub(created.LastTransitionTime.Time))
}
