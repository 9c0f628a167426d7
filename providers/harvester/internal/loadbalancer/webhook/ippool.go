// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	"github.com/faultline-io/faultline/shared/rules"
)

// ipPool has the rules of IPPools. Its Reader should be uncached, so that new pools are validated against each other.
type ipPool struct{ Reader client.Reader }

// +kubebuilder:webhook:path=/validate-loadbalancer-harvesterhci-io-v1beta1-ippool,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=loadbalancer.harvesterhci.io,resources=ippools,verbs=create;update;delete,versions=v1beta1,name=validation.ippool.loadbalancer.harvesterhci.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-loadbalancer-harvesterhci-io-v1beta1-ippool,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=loadbalancer.harvesterhci.io,resources=ippools,verbs=create;update,versions=v1beta1,name=default.ippool.loadbalancer.harvesterhci.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=ippools;ippoolblocks,verbs=list
// +kubebuilder:rbac:groups=k8s.cni.cncf.io,resources=network-attachment-definitions,verbs=get

// setDefaults sets the labels that are derived from the spec, and keeps all others. The user sets the VLAN of a pool without a network.
func (w ipPool) setDefaults(ctx context.Context, pool *lbv1.IPPool) error {
	if !pool.DeletionTimestamp.IsZero() {
		return nil
	}
	before, err := stored[lbv1.IPPool](ctx)
	if err != nil {
		return err
	}
	vlan, err := w.vlanLabel(ctx, before, pool)
	if err != nil {
		return err
	}
	if pool.Labels == nil {
		pool.Labels = map[string]string{}
	}
	pool.Labels[lbv1.VLANLabel] = vlan
	pool.Labels[lbv1.GlobalPoolLabel] = strconv.FormatBool(ippools.IsGlobal(pool))
	return nil
}

// vlanLabel returns the VLAN of the pool's network. The network is read if it has changed, or if the label was removed.
func (w ipPool) vlanLabel(ctx context.Context, before, pool *lbv1.IPPool) (string, error) {
	given, network := pool.Labels[lbv1.VLANLabel], pool.Spec.Selector.Network
	was := ""
	if before != nil {
		was = before.Spec.Selector.Network
	}
	switch {
	case network == "" && was != "":
		return noVLAN, nil
	case network == "", network == was && given != "" && given == before.Labels[lbv1.VLANLabel]:
		return cmp.Or(given, noVLAN), nil
	}
	vlan, err := w.vlan(ctx, network)
	return cmp.Or(vlan, given, noVLAN), err
}

// create rejects invalid pools and pools that overlap others.
func (w ipPool) create(ctx context.Context, pool *lbv1.IPPool) (admission.Warnings, field.ErrorList, error) {
	others, err := w.all(ctx)
	if err != nil {
		return nil, nil, err
	}
	errs := append(validatePool(pool, others), w.knownNetwork(ctx, pool.Spec.Selector.Network)...)
	return warnPool(pool.Spec), append(errs, ippools.ValidateAllocated(pool, nil)...), nil
}

// update rejects what create would, and a change of the ranges that excludes held addresses. Other pools are read only if the spec has
// changed, which an allocation does not.
func (w ipPool) update(ctx context.Context, before, after *lbv1.IPPool) (admission.Warnings, field.ErrorList, error) {
	if added := ippools.ValidateAdded(before, after); len(added) > 0 {
		return nil, added, nil
	}
	if !after.DeletionTimestamp.IsZero() {
		return nil, nil, nil
	}
	if apiequality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, ippools.ValidateAllocated(after, before.Status.Allocated), nil
	}
	others, err := w.all(ctx)
	if err != nil {
		return nil, nil, err
	}
	errs := rules.Added(validatePool(before, others), validatePool(after, others))
	if network := after.Spec.Selector.Network; network != before.Spec.Selector.Network {
		errs = append(errs, w.knownNetwork(ctx, network)...)
	}
	was, err := w.withBlocks(ctx, before)
	if err != nil {
		return nil, nil, err
	}
	held, err := w.withBlocks(ctx, after)
	if err != nil {
		return nil, nil, err
	}
	errs = append(errs, rules.Added(ippools.ValidateAllocated(was, nil), ippools.ValidateAllocated(held, nil))...)
	return rules.AddedWarnings(warnPool(before.Spec), warnPool(after.Spec)), errs, nil
}

// delete rejects the deletion of a pool with held addresses.
func (w ipPool) delete(ctx context.Context, pool *lbv1.IPPool) (admission.Warnings, field.ErrorList, error) {
	held, err := w.withBlocks(ctx, pool)
	if err != nil {
		return nil, nil, err
	}
	return nil, ippools.ValidateDeletion(held), nil
}

// validatePool validates a pool by itself and together with others.
func validatePool(pool *lbv1.IPPool, others []lbv1.IPPool) field.ErrorList {
	return append(ippools.Validate(pool.Spec), ippools.ValidateAmong(pool, others)...)
}

// withBlocks returns the pool with all holders in its status, including those in blocks.
func (w ipPool) withBlocks(ctx context.Context, pool *lbv1.IPPool) (*lbv1.IPPool, error) {
	if pool.Annotations[lbv1.BlocksAnnotation] != "true" {
		return pool, nil
	}
	blocks := &lbv1.IPPoolBlockList{}
	if err := w.Reader.List(ctx, blocks, allocation.BlocksOf(pool.Name)); err != nil {
		return nil, fmt.Errorf("listing holders of addresses of IPPool %s: %w", pool.Name, err)
	}
	all := pool.DeepCopy()
	for i := range blocks.Items {
		if !allocation.IsBlockOf(&blocks.Items[i], pool.Name) {
			continue
		}
		if all.Status.Allocated == nil {
			all.Status.Allocated = map[string]string{}
		}
		maps.Copy(all.Status.Allocated, blocks.Items[i].Allocated)
	}
	return all, nil
}

func (w ipPool) all(ctx context.Context) ([]lbv1.IPPool, error) {
	pools := &lbv1.IPPoolList{}
	if err := w.Reader.List(ctx, pools); err != nil {
		return nil, fmt.Errorf("listing IPPools: %w", err)
	}
	return pools.Items, nil
}

// warnPool returns warnings for settings that are accepted and may be unintended.
func warnPool(spec lbv1.IPPoolSpec) admission.Warnings {
	path := field.NewPath("spec")
	var warnings admission.Warnings
	for i, r := range spec.Ranges {
		start, errStart := netip.ParseAddr(r.RangeStart)
		end, errEnd := netip.ParseAddr(r.RangeEnd)
		if errStart == nil && errEnd == nil && end.Less(start) {
			warnings = append(warnings, rules.Warning(path.Child("ranges").Index(i).Child("rangeStart"), "is after rangeEnd: the two are swapped"))
		}
	}
	if len(spec.Selector.Scope) == 0 {
		warnings = append(warnings, rules.Warning(path.Child("selector", "scope"), "is empty, so only objects that name the pool get addresses from it"))
	}
	if spec.Selector.Network == "" && ippools.IsGlobal(&lbv1.IPPool{Spec: spec}) {
		warnings = append(warnings, rules.Warning(path.Child("selector", "network"),
			"is empty, so guest clusters of every network without a pool of its own get addresses from it: name the network in which the addresses are reachable"))
	}
	return warnings
}
