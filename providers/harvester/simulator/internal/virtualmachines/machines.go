// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/shared/simulation"
)

// machines simulates the controllers of VirtualMachines: Harvester, and virt-controller, which creates and deletes their
// instances.
type machines struct {
	harvester

	clock *controllers.Clock
	// backoff is the time until a virtual machine that failed before it ran is first started again.
	backoff time.Duration
	written simulation.Guard
}

// errStaleCache is returned if an instance is not yet, or still, in the cache: its event follows.
var errStaleCache = errors.New("the instance is not in the cache")

// Reconcile starts or stops a virtual machine according to its run strategy.
func (r *machines) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	vm := &kubevirtv1.VirtualMachine{}
	if err := r.client.Get(ctx, req.NamespacedName, vm); err != nil {
		r.written.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wait := r.written.Wait(vm); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if r.faults.Has(controllers.NoVirtController, vm) {
		return r.harvester.Reconcile(ctx, req)
	}
	vmi, err := r.instance(ctx, vm)
	if err != nil {
		return ctrl.Result{}, err
	}
	if vm.DeletionTimestamp != nil {
		return r.reconcileDelete(ctx, vm, vmi)
	}
	if !controllerutil.ContainsFinalizer(vm, kubevirtv1.VirtualMachineControllerFinalizer) {
		return ctrl.Result{}, r.initialize(ctx, vm)
	}
	before := vm.Status.DeepCopy()
	missing, err := r.volumes(ctx, vm)
	if err != nil {
		return ctrl.Result{}, err
	}
	if vmi, err = r.reconcileInstance(ctx, vm, vmi, len(missing) == 0); errors.Is(err, errStaleCache) {
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.remainingBackoff(vm)}, r.report(ctx, vm, vmi, missing, *before)
}

// initialize initializes a new virtual machine as Harvester and virt-controller do. Until then it is Stopped, whatever its run
// strategy.
func (r *machines) initialize(ctx context.Context, vm *kubevirtv1.VirtualMachine) error {
	written, err := r.initializeVM(ctx, vm, kubevirtv1.VirtualMachineControllerFinalizer)
	if err != nil || !written {
		return err
	}
	before := vm.Status.DeepCopy()
	vm.Status.PrintableStatus = kubevirtv1.VirtualMachineStatusStopped
	return r.write(ctx, vm, *before)
}

// maxBackoff is the maximum back-off as a multiple of the first.
const maxBackoff = 30

// remainingBackoff returns the remaining back-off of a virtual machine that has failed before it ran.
func (r *machines) remainingBackoff(vm *kubevirtv1.VirtualMachine) time.Duration {
	failure := vm.Status.StartFailure
	if failure == nil || failure.RetryAfterTimestamp == nil {
		return 0
	}
	return max(0, failure.RetryAfterTimestamp.Sub(r.clock.Now()))
}

// recordFailure starts the back-off of a virtual machine whose instance has failed before it ran.
func (r *machines) recordFailure(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance) {
	if !vmi.IsFinal() || hasRun(vmi) {
		return
	}
	count := 1
	if vm.Status.StartFailure != nil {
		count = vm.Status.StartFailure.ConsecutiveFailCount + 1
	}
	retry := r.clock.Now().Add(time.Duration(min(count*count, maxBackoff)) * r.backoff)
	vm.Status.StartFailure = &kubevirtv1.VirtualMachineStartFailure{
		ConsecutiveFailCount: count, RetryAfterTimestamp: ptr.To(metav1.NewTime(retry)),
	}
}

// reconcileInstance creates the instance if it should exist and deletes it if it should not; it returns the resulting instance.
func (r *machines) reconcileInstance(
	ctx context.Context, vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance, complete bool,
) (*kubevirtv1.VirtualMachineInstance, error) {
	strategy, err := vm.RunStrategy()
	if err != nil {
		return vmi, fmt.Errorf("reading the run strategy: %w", err)
	}
	wanted := strategy == kubevirtv1.RunStrategyAlways || strategy == kubevirtv1.RunStrategyRerunOnFailure
	switch {
	case vmi == nil:
		vm.Status.StateChangeRequests = nil
		if wanted && complete && r.remainingBackoff(vm) == 0 {
			return r.start(ctx, vm)
		}
		return nil, nil
	case vmi.DeletionTimestamp != nil, wanted && !needsReplacement(vm, vmi, strategy):
		return vmi, nil
	}
	if wanted {
		r.recordFailure(vm, vmi)
	}
	return vmi, r.stop(ctx, vmi)
}

// needsReplacement reports whether an instance must be replaced: it has ended, or a restart was requested. An instance that has
// shut itself down is not replaced if the run strategy restarts it only after a failure.
func needsReplacement(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance, strategy kubevirtv1.VirtualMachineRunStrategy) bool {
	if vmi.IsFinal() {
		return vmi.Status.Phase == kubevirtv1.Failed || strategy == kubevirtv1.RunStrategyAlways
	}
	return slices.ContainsFunc(vm.Status.StateChangeRequests, func(r kubevirtv1.VirtualMachineStateChangeRequest) bool {
		return r.Action == kubevirtv1.StopRequest && ptr.Deref(r.UID, "") == vmi.UID
	})
}

func (r *machines) start(ctx context.Context, vm *kubevirtv1.VirtualMachine) (*kubevirtv1.VirtualMachineInstance, error) {
	vmi := instanceOf(vm)
	if err := r.client.Create(ctx, vmi); apierrors.IsAlreadyExists(err) {
		return nil, errStaleCache
	} else if err != nil {
		return nil, fmt.Errorf("creating instance: %w", err)
	}
	return vmi, nil
}

func (r *machines) stop(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) error {
	if err := r.client.Delete(ctx, vmi, client.Preconditions{UID: &vmi.UID}); controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("deleting instance: %w", err)
	}
	return nil
}

// instanceOf returns the instance of a virtual machine. Generated MAC addresses are the same each time.
func instanceOf(vm *kubevirtv1.VirtualMachine) *kubevirtv1.VirtualMachineInstance {
	template := vm.Spec.Template.DeepCopy()
	vmi := &kubevirtv1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: vm.Namespace, Name: vm.Name,
			Labels: maps.Clone(template.ObjectMeta.Labels), Annotations: maps.Clone(template.ObjectMeta.Annotations),
			Finalizers:      instanceFinalizers(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vm, kubevirtv1.VirtualMachineGroupVersionKind)},
		},
		Spec: template.Spec,
	}
	if cpu := vmi.Spec.Domain.CPU; cpu != nil {
		cpu.Model = cmp.Or(cpu.Model, kubevirtv1.CPUModeHostModel)
	}
	for i := range vmi.Spec.Domain.Devices.Interfaces {
		if nic := &vmi.Spec.Domain.Devices.Interfaces[i]; nic.MacAddress == "" {
			nic.MacAddress = macFor(vm.UID, nic.Name)
		}
	}
	return vmi
}

// reconcileDelete ends a deleted virtual machine, after its instance. Its PVCs are kept.
func (r *machines) reconcileDelete(ctx context.Context, vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance) (ctrl.Result, error) {
	if len(vm.Finalizers) == 0 {
		return ctrl.Result{}, nil
	}
	if vmi != nil {
		if vmi.DeletionTimestamp == nil {
			if err := r.stop(ctx, vmi); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, r.report(ctx, vm, vmi, nil, *vm.Status.DeepCopy())
	}
	r.clock.Forget(vm.UID)
	return ctrl.Result{}, r.release(ctx, vm, kubevirtv1.VirtualMachineControllerFinalizer)
}

// instanceFinalizers returns KubeVirt's finalizers.
func instanceFinalizers() []string {
	return []string{kubevirtv1.VirtualMachineControllerFinalizer, kubevirtv1.VirtualMachineInstanceFinalizer}
}
