// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"maps"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// MaxInPool is how many holders the status of a pool has at most, which is a pool of a /22 altogether: with the longest of names that
// many, and as many in the history, are two thirds of a MiB. Those above are in blocks.
const MaxInPool = 1024

// Record is a stored object that says who holds addresses: the pool itself, or one of its blocks. An address is in one of them.
type Record struct {
	// Of is the addresses of the block; it is the zero Prefix for the pool.
	Of netip.Prefix
	// Version is that of the object as it is stored; "" when it is not. Who stores it sets both.
	Version string
	UID     types.UID
	// These are as they are to be stored. What of that is not stored yet is in the changes; nil there takes a key out.
	allocated, history, released                      map[string]string
	allocatedChanges, historyChanges, releasedChanges map[string]*string
}

func newRecord(o metav1.Object, of netip.Prefix, allocated, history, released map[string]string) *Record {
	r := &Record{Of: of, allocated: map[string]string{}, history: map[string]string{}, released: map[string]string{}}
	maps.Copy(r.allocated, allocated)
	maps.Copy(r.history, history)
	maps.Copy(r.released, released)
	if o != nil {
		r.Version, r.UID = o.GetResourceVersion(), o.GetUID()
	}
	r.stored()
	return r
}

// stored says that the object is as the record.
func (r *Record) stored() {
	r.allocatedChanges, r.historyChanges, r.releasedChanges = map[string]*string{}, map[string]*string{}, map[string]*string{}
}

func (r *Record) hold(given, id string) {
	r.allocated[given], r.allocatedChanges[given] = id, &id
}

func (r *Record) release(given string) {
	delete(r.allocated, given)
	r.allocatedChanges[given] = nil
}

func (r *Record) remember(given, id string) {
	r.history[given], r.historyChanges[given] = id, &id
}

func (r *Record) forget(given string) {
	delete(r.history, given)
	r.historyChanges[given] = nil
}

// mark notes when an address was given back that rests.
func (r *Record) mark(given, released string) {
	r.released[given], r.releasedChanges[given] = released, &released
}

func (r *Record) unmark(given string) {
	if _, marked := r.released[given]; marked {
		delete(r.released, given)
		r.releasedChanges[given] = nil
	}
}

// IsBlock reports whether it is a block, and not the pool.
func (r *Record) IsBlock() bool { return r.Of.IsValid() }

// IsEmpty reports whether nothing is known of any address.
func (r *Record) IsEmpty() bool { return len(r.allocated) == 0 && len(r.history) == 0 }

// Adds reports whether somebody more holds an address.
func (r *Record) Adds() bool {
	for _, id := range r.allocatedChanges {
		if id != nil {
			return true
		}
	}
	return false
}

// status is what of the status of a pool is to be stored, for the object as it is known. It goes to the object itself, which has no
// subresource for its status. What a status must have is always in it: a pool that nobody has used yet has none.
func (r *Record) status(now counts, conditions []lbv1.Condition) map[string]any {
	status := map[string]any{"total": now.total, "available": now.available, "lastAllocated": now.last}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	r.changesInto(status)
	return map[string]any{"metadata": map[string]any{"resourceVersion": r.Version}, "status": status}
}

// changes are what of a block is to be stored, for the object as it is known. Nobody applies blocks, so the API server need not note who wrote
// which of their fields: it does not from when that is emptied, and a write of a block costs it much less then.
func (r *Record) changes() map[string]any {
	body := map[string]any{"metadata": map[string]any{"resourceVersion": r.Version, "managedFields": []struct{}{{}}}}
	r.changesInto(body)
	return body
}

func (r *Record) changesInto(body map[string]any) {
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
