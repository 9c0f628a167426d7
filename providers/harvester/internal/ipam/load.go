// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// getter reads one object, from a cache or not.
type getter interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

var errDeleted = errors.New("is being deleted, and gives no address: name another pool")

// load reads a pool, and its blocks: always those of one that may have some without saying so. One that cannot give anything is read all
// the same, since addresses are released to it.
func load(ctx context.Context, h Harvester, from getter, name string, always bool) (*lbv1.IPPool, *Pool, error) {
	stored := &lbv1.IPPool{}
	if err := from.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
		return nil, nil, err
	}
	var blocks []lbv1.IPPoolBlock
	if always || stored.Annotations[lbv1.BlocksAnnotation] == "true" {
		list := &lbv1.IPPoolBlockList{}
		if err := h.Live().List(ctx, list, BlocksOf(name)); err != nil {
			return nil, nil, fmt.Errorf("listing IPPoolBlocks of IPPool %s: %w", name, err)
		}
		var err error
		if blocks, err = ownBlocks(ctx, h, stored, list.Items); err != nil {
			return nil, nil, err
		}
	}
	p, _ := NewPool(stored, blocks...) // it says itself what is wrong with it
	if !stored.DeletionTimestamp.IsZero() {
		p.broken = errDeleted
	}
	return stored, p, nil
}

// ownBlocks leaves out those of others, and removes those of a pool of the same name that is gone: they are in the way.
func ownBlocks(ctx context.Context, h Harvester, pool *lbv1.IPPool, all []lbv1.IPPoolBlock) ([]lbv1.IPPoolBlock, error) {
	var own []lbv1.IPPoolBlock
	for i := range all {
		block := &all[i]
		if block.Pool != pool.Name {
			continue
		}
		if !IsForeign(block, pool) {
			own = append(own, *block)
			continue
		}
		err := h.Delete(ctx, block, client.Preconditions{UID: &block.UID})
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("deleting IPPoolBlock %s of an IPPool that is gone: %w", block.Name, err)
		}
	}
	return own, nil
}

// IsForeign reports whether a block is of a pool of the same name that is gone.
func IsForeign(block *lbv1.IPPoolBlock, pool *lbv1.IPPool) bool {
	for _, owner := range block.OwnerReferences {
		if owner.Kind == "IPPool" && owner.UID != pool.UID {
			return true
		}
	}
	return false
}

// metadataOf is a pool, or a block, of which nothing but the metadata is read.
func metadataOf(kind, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: lbv1.GroupVersion.String(), Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

// isStored reports whether what is known of a record is what is stored.
func (p *Pool) isStored(ctx context.Context, h Harvester, r *record) (bool, error) {
	o := r.metadata(p.name)
	err := h.Live().Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) && r.isBlock() {
		return r.version == "", nil
	}
	return o.ResourceVersion == r.version, err
}

// areBlocksStored reports whether what is known of all blocks is what is stored.
func (p *Pool) areBlocksStored(ctx context.Context, h Harvester) (bool, error) {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: lbv1.GroupVersion.String(), Kind: "IPPoolBlockList"}}
	if err := h.Live().List(ctx, list, BlocksOf(p.name)); err != nil {
		return false, fmt.Errorf("listing IPPoolBlocks of IPPool %s: %w", p.name, err)
	}
	versions := make(map[string]string, len(list.Items))
	for i := range list.Items {
		versions[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	known := 0
	for _, r := range p.blocks {
		if r.version == "" {
			continue
		}
		known++
		if versions[blockName(p.name, r.of)] != r.version {
			return false, nil
		}
	}
	return known == len(versions), nil
}

func (r *record) metadata(pool string) *metav1.PartialObjectMetadata {
	if r.isBlock() {
		return metadataOf("IPPoolBlock", blockName(pool, r.of))
	}
	return metadataOf("IPPool", pool)
}
