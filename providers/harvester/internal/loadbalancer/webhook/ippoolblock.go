// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-loadbalancer-harvesterhci-io-v1beta1-ippoolblock,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=loadbalancer.harvesterhci.io,resources=ippoolblocks,verbs=delete,versions=v1beta1,name=validation.ippoolblock.loadbalancer.harvesterhci.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=ippools,verbs=get

// deleteBlock rejects the deletion of a block with held addresses while its pool exists: blocks are deleted with their pool. Other writes
// of blocks, one per allocation, are not validated. The reader should be uncached.
func deleteBlock(reader client.Reader) rules.Rule[*lbv1.IPPoolBlock] {
	return func(ctx context.Context, block *lbv1.IPPoolBlock) (admission.Warnings, field.ErrorList, error) {
		pool, err := reconcile.Find(ctx, reader, client.ObjectKey{Name: block.Pool}, &lbv1.IPPool{})
		if err != nil || pool == nil || allocation.IsForeign(block, pool) || allocation.IsCopy(block) {
			return nil, nil, err
		}
		return nil, ippools.ValidateBlockDeletion(block), nil
	}
}
