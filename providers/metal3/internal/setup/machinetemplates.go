// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/controllers"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machinetemplates/status,verbs=patch

func addMachineTemplates(ctx context.Context, mgr ctrl.Manager, watchFilter string) error {
	if err := (&controllers.MachineTemplates[*infrav1.Metal3MachineTemplate]{
		Client: mgr.GetClient(), Empty: &infrav1.Metal3MachineTemplate{}, List: &infrav1.Metal3MachineTemplateList{},
		Status: templateStatus{mgr.GetClient()}.of, Input: &bmov1alpha1.BareMetalHost{}, InputChanged: hardwareChanged(),
	}).SetupWithManager(ctx, mgr, watchFilter); err != nil {
		return fmt.Errorf("adding controller of the status of Metal3MachineTemplates: %w", err)
	}
	return nil
}

// hardwareChanged passes events that may change the smallest hardware of the hosts that a selector matches. The hosts of the initial
// list are read by the first reconcile of each template.
func hardwareChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return hosts.HardwareChanged(e.ObjectOld.(*bmov1alpha1.BareMetalHost), e.ObjectNew.(*bmov1alpha1.BareMetalHost))
		},
	}
}

type templateStatus struct {
	client client.Reader // a cache
}

// of returns the hardware that every host has which machines of the template may use. Without an inspected host it has no capacity,
// so that no program counts on hosts that do not exist.
func (s templateStatus) of(ctx context.Context, template *infrav1.Metal3MachineTemplate) (faultlinev1.MachineTemplateStatus, error) {
	status := faultlinev1.MachineTemplateStatus{NodeInfo: faultlinev1.NodeInfo{OperatingSystem: string(corev1.Linux)}}
	selector, err := hosts.Selector(template.Spec.Template.Spec.HostSelector)
	if err != nil {
		return status, nil //nolint:nilerr // The webhook rejects it, and the machines of an older template report it.
	}
	least, err := hosts.LeastHardware(ctx, s.client, template.Namespace, selector)
	if err != nil || least == nil {
		return status, err
	}
	status.NodeInfo.Architecture = least.Architecture
	status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(least.CPUs), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dMi", least.MemoryMiB)), // it does not overflow
	}
	if least.Disk > 0 {
		status.Capacity[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(least.Disk), resource.BinarySI)
	}
	return status, nil
}
