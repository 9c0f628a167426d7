// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// IPPoolBlock validates that IPPoolBlocks are deleted. Its Reader should be uncached.
type IPPoolBlock struct {
	Reader client.Reader
}

var _ admission.Validator[*lbv1.IPPoolBlock] = &IPPoolBlock{}

// +kubebuilder:webhook:path=/validate-loadbalancer-harvesterhci-io-v1beta1-ippoolblock,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=loadbalancer.harvesterhci.io,resources=ippoolblocks,verbs=delete,versions=v1beta1,name=validation.ippoolblock.loadbalancer.harvesterhci.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=ippools,verbs=get

// SetupWithManager registers the webhook.
func (w *IPPoolBlock) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &lbv1.IPPoolBlock{}).WithValidator(w).Complete()
}

// ValidateCreate is not asked for: blocks are written with every address that is given.
func (w *IPPoolBlock) ValidateCreate(context.Context, *lbv1.IPPoolBlock) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate is not asked for either.
func (w *IPPoolBlock) ValidateUpdate(context.Context, *lbv1.IPPoolBlock, *lbv1.IPPoolBlock) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete refuses to delete a block while somebody holds an address of it, as long as its pool is there: with the pool, blocks go.
func (w *IPPoolBlock) ValidateDelete(ctx context.Context, block *lbv1.IPPoolBlock) (admission.Warnings, error) {
	pool, err := reconcile.Find(ctx, w.Reader, client.ObjectKey{Name: block.Pool}, &lbv1.IPPool{})
	if err != nil || pool == nil || allocation.IsForeign(block, pool) {
		return nil, err
	}
	return nil, refuse("IPPoolBlock", block.Name, ippools.ValidateBlockDeletion(block))
}
