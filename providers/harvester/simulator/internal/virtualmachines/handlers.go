// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// handlers simulates the virt-handlers of all hosts for the real virt-controller, which hands over an instance when it is
// Scheduled.
type handlers struct {
	instances

	// as writes with the permissions of virt-handler.
	as client.Client
}

// Reconcile processes an instance as the virt-handler of its host would. An instance on a host that does not respond is skipped.
func (r *handlers) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := r.client.Get(ctx, req.NamespacedName, vmi); err != nil {
		r.written.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wait := r.written.Wait(vmi); wait > 0 || vmi.Status.NodeName == "" {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	v, err := r.observe(ctx, vmi)
	if err != nil {
		return ctrl.Result{}, err
	}
	if vmi.IsFinal() || !cluster.HostReady(v.host) {
		return ctrl.Result{}, r.guests.Stop(ctx, vmi)
	}
	before := vmi.DeepCopy()
	wait, err := r.handle(ctx, v)
	if err != nil || apiequality.Semantic.DeepEqual(before, vmi) {
		return ctrl.Result{RequeueAfter: wait}, err
	}
	if err := r.as.Update(ctx, vmi); controllers.IgnoreStale(err) != nil {
		return ctrl.Result{}, fmt.Errorf("updating instance: %w", err)
	} else if err == nil {
		r.written.Wrote(vmi)
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// handle advances an instance until it has to wait. virt-controller maintains condition Ready.
func (r *handlers) handle(ctx context.Context, v *instanceState) (wait time.Duration, err error) {
	switch {
	case v.vmi.DeletionTimestamp != nil, v.pod != nil && v.pod.DeletionTimestamp != nil:
		return r.shutDown(ctx, v)
	case v.vmi.Status.Phase == kubevirtv1.Scheduled:
		wait, err = r.scheduled(ctx, v)
	case v.vmi.Status.Phase == kubevirtv1.Running:
		wait, err = r.guest(ctx, v)
	}
	return wait, err
}

// shutDown shuts down the guest of an instance that is deleted, or whose Pod is.
func (r *handlers) shutDown(ctx context.Context, v *instanceState) (time.Duration, error) {
	if r.faults.Has(controllers.NoShutdown, v.vmi) {
		return 0, nil
	}
	if wait := r.clock.Remaining(v.vmi.UID, "shutdown", r.delays.Shutdown); wait > 0 {
		return wait, nil
	}
	if err := r.guests.Stop(ctx, v.vmi); err != nil {
		return 0, err
	}
	r.guests.Forget(v.vmi)
	r.clock.Forget(v.vmi.UID)
	v.vmi.Status.Phase = kubevirtv1.Succeeded
	return 0, nil
}

// heartbeatInterval is the interval of the heartbeats of a virt-handler.
const heartbeatInterval = time.Minute

// heartbeats simulates the heartbeats of the virt-handlers.
type heartbeats struct{ client client.Client }

// Reconcile writes the heartbeat of the virt-handler of a host.
func (r *heartbeats) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{}
	if err := r.client.Get(ctx, req.NamespacedName, node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if _, runs := node.Labels[kubevirtv1.NodeSchedulable]; !runs || !cluster.HostReady(node) {
		return ctrl.Result{}, nil
	}
	last, err := time.Parse(time.RFC3339, node.Annotations[kubevirtv1.VirtHandlerHeartbeat])
	if err == nil && node.Labels[kubevirtv1.NodeSchedulable] == "true" {
		if left := heartbeatInterval - time.Since(last); left > 0 {
			return ctrl.Result{RequeueAfter: left}, nil
		}
	}
	before := node.DeepCopy()
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, kubevirtv1.VirtHandlerHeartbeat, time.Now().UTC().Format(time.RFC3339))
	metav1.SetMetaDataLabel(&node.ObjectMeta, kubevirtv1.NodeSchedulable, "true")
	if err := r.client.Patch(ctx, node, client.MergeFrom(before)); controllers.IgnoreStale(err) != nil {
		return ctrl.Result{}, fmt.Errorf("writing the heartbeat of %s: %w", node.Name, err)
	}
	return ctrl.Result{RequeueAfter: heartbeatInterval}, nil
}
