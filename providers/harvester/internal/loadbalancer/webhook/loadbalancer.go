// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/shared/rules"
)

// LoadBalancer defaults and validates LoadBalancers. Its Reader should be uncached: what was made a moment ago counts.
type LoadBalancer struct {
	rules.Deletable[*lbv1.LoadBalancer]

	Reader client.Reader
}

var (
	_ admission.Validator[*lbv1.LoadBalancer] = &LoadBalancer{}
	_ admission.Defaulter[*lbv1.LoadBalancer] = &LoadBalancer{}
)

// +kubebuilder:webhook:path=/validate-loadbalancer-harvesterhci-io-v1beta1-loadbalancer,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=create;update,versions=v1beta1,name=validation.loadbalancer.loadbalancer.harvesterhci.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-loadbalancer-harvesterhci-io-v1beta1-loadbalancer,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=create;update,versions=v1beta1,name=default.loadbalancer.loadbalancer.harvesterhci.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhooks.
func (w *LoadBalancer) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &lbv1.LoadBalancer{}).WithDefaulter(w).WithValidator(w).Complete()
}

// Default sets what the load balancer says of where it is, and completes its health check.
func (w *LoadBalancer) Default(ctx context.Context, lb *lbv1.LoadBalancer) error {
	if !lb.DeletionTimestamp.IsZero() {
		return nil
	}
	before, err := stored[lbv1.LoadBalancer](ctx)
	if err != nil {
		return err
	}
	completeHealthCheck(lb.Spec.HealthCheck)
	return w.place(ctx, before, lb)
}

// completeHealthCheck has what Harvester takes where nothing is said.
func completeHealthCheck(check *lbv1.HealthCheck) {
	if check == nil || check.Port == 0 {
		return
	}
	for of, otherwise := range map[*uint]uint{&check.SuccessThreshold: 2, &check.FailureThreshold: 2, &check.PeriodSeconds: 1, &check.TimeoutSeconds: 1} {
		if *of == 0 {
			*of = otherwise
		}
	}
}

// ValidateCreate refuses load balancers that could not be made, and those of a guest cluster that is being removed.
func (w *LoadBalancer) ValidateCreate(ctx context.Context, lb *lbv1.LoadBalancer) (admission.Warnings, error) {
	removed, err := w.removed(ctx, lb)
	if err != nil {
		return nil, err
	}
	return warnLoadBalancer(lb.Spec), refuse("LoadBalancer", lb.Name, append(loadbalancer.Validate(lb.Spec), removed...))
}

// ValidateUpdate refuses what ValidateCreate would of the load balancer itself, and changes that would leave an address behind.
func (w *LoadBalancer) ValidateUpdate(_ context.Context, before, after *lbv1.LoadBalancer) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	errs := rules.Added(loadbalancer.Validate(before.Spec), loadbalancer.Validate(after.Spec))
	errs = append(errs, loadbalancer.ValidateChange(before.Spec, after.Spec)...)
	return rules.AddedWarnings(warnLoadBalancer(before.Spec), warnLoadBalancer(after.Spec)), refuse("LoadBalancer", after.Name, errs)
}

// warnLoadBalancer has what is accepted of a load balancer, and may surprise.
func warnLoadBalancer(spec lbv1.LoadBalancerSpec) admission.Warnings {
	path := field.NewPath("spec")
	var warnings admission.Warnings
	if spec.IPAM == lbv1.IPAMDHCP && spec.IPPool != "" {
		warnings = append(warnings, rules.Warning(path.Child("ipPool"), "is not used, as the address comes from a DHCP server"))
	}
	if spec.WorkloadType != lbv1.WorkloadCluster && len(spec.BackendServerSelector) == 0 {
		warnings = append(warnings, rules.Warning(path.Child("backendServerSelector"), "is empty, so the load balancer leads to no machine: select labels of virtual machine instances"))
	}
	return warnings
}
