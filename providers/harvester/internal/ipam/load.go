// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
)

// getter reads one object, from a cache or not.
type getter interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// known is what is known of a pool that is stored.
type known struct {
	*allocation.Pool
	// writers are those of blocks, as they are stored. sole says that whatever others wrote of what they know fails.
	writers writers
	sole    bool
	// shared says that another pool has holders of addresses of this one.
	shared bool
}

// load reads a pool, and its blocks: always those of one that may have some without saying so. One that cannot give anything is read all
// the same, since addresses are released to it. No pool has a name that cannot be one, so that is NotFound, too: clients write names.
func load(ctx context.Context, h Harvester, from getter, name string, always bool) (*lbv1.IPPool, *known, error) {
	if !ippools.IsName(name) { // an API server refuses to look for it, which says nothing of the server
		return nil, nil, apierrors.NewNotFound(lbv1.GroupVersion.WithResource("ippools").GroupResource(), name)
	}
	stored := &lbv1.IPPool{}
	if err := from.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
		return nil, nil, err
	}
	var blocks []lbv1.IPPoolBlock
	if always || stored.Annotations[lbv1.BlocksAnnotation] == "true" {
		list := &lbv1.IPPoolBlockList{}
		if err := h.Live().List(ctx, list, allocation.BlocksOf(name)); err != nil {
			return nil, nil, fmt.Errorf("listing IPPoolBlocks of IPPool %s: %w", name, err)
		}
		var err error
		if blocks, err = ownBlocks(ctx, h, stored, list.Items); err != nil {
			return nil, nil, err
		}
	}
	p, _ := allocation.NewPool(stored, blocks...) // it says itself what is wrong with it
	return stored, &known{Pool: p, writers: readWriters(stored.Annotations[writersAnnotation], p.Blocks())}, nil
}

// ownBlocks leaves out those of others, and removes those of a pool of the same name that is gone: they are in the way.
func ownBlocks(ctx context.Context, h Harvester, pool *lbv1.IPPool, all []lbv1.IPPoolBlock) ([]lbv1.IPPoolBlock, error) {
	var own []lbv1.IPPoolBlock
	for i := range all {
		block := &all[i]
		if block.Pool != pool.Name {
			continue
		}
		if !allocation.IsForeign(block, pool) {
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

// isStored reports whether what is known of a record is what is stored.
func (p *known) isStored(ctx context.Context, h Harvester, r *allocation.Record) (bool, error) {
	o := p.Metadata(r)
	err := h.Live().Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) && r.IsBlock() {
		return r.Version == "", nil
	}
	return o.ResourceVersion == r.Version, err
}

// areBlocksStored reports whether what is known of all blocks is what is stored.
func (q *queue) areBlocksStored(ctx context.Context) (bool, error) {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: lbv1.GroupVersion.String(), Kind: "IPPoolBlockList"}}
	if err := q.h.Live().List(ctx, list, allocation.BlocksOf(q.name)); err != nil {
		return false, fmt.Errorf("listing IPPoolBlocks of IPPool %s: %w", q.name, err)
	}
	versions := make(map[string]string, len(list.Items))
	for i := range list.Items {
		versions[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	count := 0
	for _, r := range q.pool.Blocks() {
		if r.Version == "" {
			continue
		}
		count++
		if versions[q.pool.Metadata(r).Name] != r.Version {
			return false, nil
		}
	}
	return count == len(versions), nil
}
