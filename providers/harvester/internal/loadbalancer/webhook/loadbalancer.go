// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1alpha1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/shared/rules"
)

// loadBalancer has the rules of LoadBalancers. Its Reader should be uncached, so that new objects are found.
type loadBalancer struct{ Reader client.Reader }

// +kubebuilder:webhook:path=/validate-loadbalancer-harvesterhci-io-v1beta1-loadbalancer,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=create;update,versions=v1beta1,name=validation.loadbalancer.loadbalancer.harvesterhci.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-loadbalancer-harvesterhci-io-v1beta1-loadbalancer,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=create;update,versions=v1beta1,name=default.loadbalancer.loadbalancer.harvesterhci.io,sideEffects=None,admissionReviewVersions=v1

// setDefaults sets the annotations that describe the location, completes the health check, and sets what a client of v1alpha1 cannot
// express.
func (w loadBalancer) setDefaults(ctx context.Context, lb *lbv1.LoadBalancer) error {
	if !lb.DeletionTimestamp.IsZero() {
		return nil
	}
	before, err := stored[lbv1.LoadBalancer](ctx)
	if err != nil {
		return err
	}
	older := ofOlderClient(ctx)
	shown := lb.Status
	if before == nil {
		lb.Status = unverifiedStatus(shown, older)
	}
	if older {
		if before != nil {
			loadbalancer.CarryOver(before, lb)
		}
		if err := w.complete(ctx, lb); err != nil {
			return err
		}
	}
	if before == nil {
		if err := w.verifyStatus(ctx, lb, shown); err != nil {
			return err
		}
	}
	setHealthCheckDefaults(lb.Spec.HealthCheck)
	return w.setAnnotations(ctx, before, lb)
}

// unverifiedStatus returns the part of the status of a new load balancer that is kept, since any client can write it: the address that a
// guest cluster announces and, for a client of v1alpha1, the address, because its load balancers had addresses before pools existed.
func unverifiedStatus(shown lbv1.LoadBalancerStatus, older bool) lbv1.LoadBalancerStatus {
	counts := lbv1.LoadBalancerStatus{Address: shown.Address}
	if older {
		counts.BackendServers, counts.AllocatedAddress.IP = shown.BackendServers, shown.AllocatedAddress.IP
	}
	return counts
}

// +kubebuilder:rbac:groups="",resources=services,verbs=get

// verifyStatus keeps the address that a new load balancer shows if a pool records the load balancer as its holder, which complete has
// found, or if the Service of its name has the address. Otherwise a new address is allocated.
func (w loadBalancer) verifyStatus(ctx context.Context, lb *lbv1.LoadBalancer, shown lbv1.LoadBalancerStatus) error {
	has := lb.Status.AllocatedAddress
	if has.IP == "" && lb.Spec.WorkloadType == lbv1.WorkloadCluster {
		return nil // the guest cluster decides where it is announced
	}
	proven := has.IPPool != "" || has.IP == lbv1.UnspecifiedAddress && lb.Spec.IPAM == lbv1.IPAMDHCP
	if has.IP != "" && !proven {
		service := &corev1.Service{}
		if err := w.Reader.Get(ctx, client.ObjectKeyFromObject(lb), service); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("checking whether Service %s/%s has address %s: %w", lb.Namespace, lb.Name, has.IP, err)
		}
		proven = slices.ContainsFunc(service.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return i.IP == has.IP })
	}
	if !proven {
		lb.Status = lbv1.LoadBalancerStatus{BackendServers: lb.Status.BackendServers}
		return nil
	}
	lb.Status.Conditions = shown.Conditions
	return nil
}

// ofOlderClient reports whether the admission request in the context is for v1alpha1.
func ofOlderClient(ctx context.Context) bool {
	request, err := admission.RequestFromContext(ctx)
	return err == nil && request.RequestKind != nil && request.RequestKind.Version == v1alpha1.GroupVersion.Version
}

// complete resolves what v1alpha1 expresses differently. The controller resolves what is not found yet.
func (w loadBalancer) complete(ctx context.Context, lb *lbv1.LoadBalancer) error {
	pools, machines := &lbv1.IPPoolList{}, &kubevirtv1.VirtualMachineInstanceList{}
	if loadbalancer.NeedsPool(lb) {
		if err := w.Reader.List(ctx, pools); err != nil {
			return fmt.Errorf("listing IPPools to find that of address %s: %w", lb.Status.AllocatedAddress.IP, err)
		}
	}
	if len(loadbalancer.RequestedServers(lb)) > 0 {
		if err := w.Reader.List(ctx, machines, client.InNamespace(lb.Namespace)); err != nil && !meta.IsNoMatchError(err) {
			return fmt.Errorf("listing machines to find those of backendServers: %w", err)
		}
	}
	loadbalancer.Complete(lb, pools.Items, machines.Items)
	return nil
}

// setHealthCheckDefaults sets the defaults of the mutating webhook of Harvester's load balancer. They differ from those of its prober,
// which package health applies to load balancers that no webhook has completed.
func setHealthCheckDefaults(check *lbv1.HealthCheck) {
	if check == nil || check.Port == 0 {
		return
	}
	for of, otherwise := range map[*uint]uint{&check.SuccessThreshold: 2, &check.FailureThreshold: 2, &check.PeriodSeconds: 1, &check.TimeoutSeconds: 1} {
		if *of == 0 {
			*of = otherwise
		}
	}
}

// create rejects invalid load balancers and those of a guest cluster that is being removed.
func (w loadBalancer) create(ctx context.Context, lb *lbv1.LoadBalancer) (admission.Warnings, field.ErrorList, error) {
	removed, err := w.checkRemoval(ctx, lb)
	return warnLoadBalancer(lb.Spec), append(loadbalancer.Validate(lb.Spec), removed...), err
}

// update rejects invalid changes of the load balancer itself, and changes that would leak an address.
func (loadBalancer) update(_ context.Context, before, after *lbv1.LoadBalancer) (admission.Warnings, field.ErrorList, error) {
	if !after.DeletionTimestamp.IsZero() {
		return nil, nil, nil
	}
	errs := rules.Added(loadbalancer.Validate(before.Spec), loadbalancer.Validate(after.Spec))
	errs = append(errs, loadbalancer.ValidateChange(before.Spec, after.Spec)...)
	return rules.AddedWarnings(warnLoadBalancer(before.Spec), warnLoadBalancer(after.Spec)), errs, nil
}

// warnLoadBalancer returns warnings for settings that are accepted and may be unintended.
func warnLoadBalancer(spec lbv1.LoadBalancerSpec) admission.Warnings {
	path := field.NewPath("spec")
	var warnings admission.Warnings
	if spec.IPAM == lbv1.IPAMDHCP && spec.IPPool != "" {
		warnings = append(warnings, rules.Warning(path.Child("ipPool"), "is ignored, because the address comes from a DHCP server"))
	}
	if spec.WorkloadType != lbv1.WorkloadCluster && len(spec.BackendServerSelector) == 0 {
		warnings = append(warnings, rules.Warning(path.Child("backendServerSelector"), "is empty, so the load balancer has no backends: select labels of virtual machine instances"))
	}
	return warnings
}
