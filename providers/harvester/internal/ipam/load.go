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

// getter reads a single object, from a cache or the API server.
type getter interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// poolState is the cached state of a stored pool.
type poolState struct {
	*allocation.Pool
	// writers are the stored writers of blocks. sole is set if all writes in flight of other writers will fail.
	writers writers
	sole    bool
	// shared is set if another pool has holders of addresses of this one.
	shared bool
	// ignored is the number of stored blocks with the pool's label that are not its own.
	ignored int
}

// load reads a pool and its blocks. With always it reads the blocks even if the pool is not marked, since it may have some. It also reads
// an invalid pool, since addresses are released to it. A name that is invalid for a pool is NotFound, since clients write names.
func load(ctx context.Context, h Harvester, from getter, name string, always bool) (*lbv1.IPPool, *poolState, error) {
	if !ippools.IsName(name) { // the API server rejects the name, which must not look like a server error
		return nil, nil, apierrors.NewNotFound(lbv1.GroupVersion.WithResource("ippools").GroupResource(), name)
	}
	stored := &lbv1.IPPool{}
	if err := from.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
		return nil, nil, err
	}
	var blocks []lbv1.IPPoolBlock
	ignored := 0
	if always || stored.Annotations[lbv1.BlocksAnnotation] == "true" {
		list := &lbv1.IPPoolBlockList{}
		if err := h.Live().List(ctx, list, allocation.BlocksOf(name)); err != nil {
			return nil, nil, fmt.Errorf("listing IPPoolBlocks of IPPool %s: %w", name, err)
		}
		var err error
		if blocks, ignored, err = ownBlocks(ctx, h, stored, list.Items); err != nil {
			return nil, nil, err
		}
	}
	p, _ := allocation.NewPool(stored, blocks...) // p reports its own problem
	return stored, &poolState{Pool: p, writers: readWriters(stored.Annotations[writersAnnotation], p.Blocks()), ignored: ignored}, nil
}

// ownBlocks skips blocks of other pools and copies of blocks, which it counts, and deletes those of a deleted pool of the same name, which
// occupy the names.
func ownBlocks(ctx context.Context, h Harvester, pool *lbv1.IPPool, all []lbv1.IPPoolBlock) (own []lbv1.IPPoolBlock, ignored int, _ error) {
	for i := range all {
		block := &all[i]
		if !allocation.IsBlockOf(block, pool.Name) {
			ignored++
			continue
		}
		if !allocation.IsForeign(block, pool) {
			own = append(own, *block)
			continue
		}
		err := h.Delete(ctx, block, client.Preconditions{UID: &block.UID})
		if client.IgnoreNotFound(err) != nil {
			return nil, 0, fmt.Errorf("deleting IPPoolBlock %s of a deleted IPPool: %w", block.Name, err)
		}
	}
	return own, ignored, nil
}

// isStored reports whether the cached record matches the stored object.
func (p *poolState) isStored(ctx context.Context, h Harvester, r *allocation.Record) (bool, error) {
	o := p.Metadata(r)
	err := h.Live().Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) && r.IsBlock() {
		return r.Version == "", nil
	}
	return o.ResourceVersion == r.Version, err
}

// areBlocksStored reports whether all cached blocks match the stored ones.
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
	return count+q.pool.ignored == len(versions), nil
}
