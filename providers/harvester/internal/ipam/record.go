// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"encoding/json"
	"maps"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

const (
	// MaxInPool is how many holders the status of a pool has at most, which is a pool of a /22 altogether: with the longest of names that
	// many, and as many in the history, are two thirds of a MiB. Those above are in blocks.
	MaxInPool = 1024

	// fencedAnnotation changes with nothing but the version of an object.
	fencedAnnotation = "loadbalancer.harvesterhci.io/fenced"
)

// record is a stored object that says who holds addresses: the pool itself, or one of its blocks. An address is in one of them.
type record struct {
	// of is the addresses of the block; it is the zero Prefix for the pool.
	of netip.Prefix
	// version is that of the object as it is stored; "" when it is not.
	version string
	uid     types.UID
	// These are as they are to be stored. What of that is not stored yet is in the changes; nil there takes a key out.
	allocated, history, released                      map[string]string
	allocatedChanges, historyChanges, releasedChanges map[string]*string
}

func newRecord(o client.Object, of netip.Prefix, allocated, history, released map[string]string) *record {
	r := &record{of: of, allocated: map[string]string{}, history: map[string]string{}, released: map[string]string{}}
	maps.Copy(r.allocated, allocated)
	maps.Copy(r.history, history)
	maps.Copy(r.released, released)
	if o != nil {
		r.version, r.uid = o.GetResourceVersion(), o.GetUID()
	}
	r.stored()
	return r
}

// stored says that the object is as the record.
func (r *record) stored() {
	r.allocatedChanges, r.historyChanges, r.releasedChanges = map[string]*string{}, map[string]*string{}, map[string]*string{}
}

func (r *record) hold(given, id string) {
	r.allocated[given], r.allocatedChanges[given] = id, &id
}

func (r *record) release(given string) {
	delete(r.allocated, given)
	r.allocatedChanges[given] = nil
}

func (r *record) remember(given, id string) {
	r.history[given], r.historyChanges[given] = id, &id
}

func (r *record) forget(given string) {
	delete(r.history, given)
	r.historyChanges[given] = nil
}

// mark notes when an address was given back that rests.
func (r *record) mark(given, released string) {
	r.released[given], r.releasedChanges[given] = released, &released
}

func (r *record) unmark(given string) {
	if _, marked := r.released[given]; marked {
		delete(r.released, given)
		r.releasedChanges[given] = nil
	}
}

func (r *record) isBlock() bool { return r.of.IsValid() }

// isEmpty reports whether nothing is known of any address.
func (r *record) isEmpty() bool { return len(r.allocated) == 0 && len(r.history) == 0 }

// status is what of the status of a pool is to be stored, for the object as it is known. It goes to the object itself, which has no
// subresource for its status. What a status must have is always in it: a pool that nobody has used yet has none.
func (r *record) status(now counts, conditions []lbv1.Condition) map[string]any {
	status := map[string]any{"total": now.total, "available": now.available, "lastAllocated": now.last}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	r.changesInto(status)
	return map[string]any{"metadata": map[string]any{"resourceVersion": r.version}, "status": status}
}

// changes are what of a block is to be stored, for the object as it is known. Nobody applies blocks, so the API server need not note who wrote
// which of their fields: it does not from when that is emptied, and a write of a block costs it much less then.
func (r *record) changes() map[string]any {
	body := map[string]any{"metadata": map[string]any{"resourceVersion": r.version, "managedFields": []struct{}{{}}}}
	r.changesInto(body)
	return body
}

func (r *record) changesInto(body map[string]any) {
	if len(r.allocatedChanges) > 0 {
		body["allocated"] = r.allocatedChanges
	}
	if len(r.historyChanges) > 0 {
		body["allocatedHistory"] = r.historyChanges
	}
	if len(r.releasedChanges) > 0 {
		body["released"] = r.releasedChanges
	}
}

// mergePatch is a patch of the body.
func mergePatch(body map[string]any) (client.Patch, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, data), nil
}
