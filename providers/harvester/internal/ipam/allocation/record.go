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

// MaxInPool is the maximum number of holders in the status of a pool, which is all addresses of a /22. With names of maximum length,
// these and as many in the history take two thirds of a MiB. Further holders are stored in blocks.
const MaxInPool = 1024

// Record is a stored object that records holders of addresses: the pool itself or one of its blocks. An address is in exactly one record.
type Record struct {
	// Of is the prefix of the block; it is zero for the pool.
	Of netip.Prefix
	// Version is the resourceVersion of the stored object, or "" if it is not stored. The caller that stores it sets Version and UID.
	Version string
	UID     types.UID
	// The first three hold the desired content. The changes have what is not stored yet; a nil value removes a key.
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

// stored records that the object matches the record.
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

// mark records the time when a quarantined address was released.
func (r *Record) mark(given, released string) {
	r.released[given], r.releasedChanges[given] = released, &released
}

func (r *Record) unmark(given string) {
	if _, marked := r.released[given]; marked {
		delete(r.released, given)
		r.releasedChanges[given] = nil
	}
}

// IsBlock reports whether the record is a block rather than the pool.
func (r *Record) IsBlock() bool { return r.Of.IsValid() }

// IsEmpty reports whether the record has no address.
func (r *Record) IsEmpty() bool { return len(r.allocated) == 0 && len(r.history) == 0 }

// Adds reports whether the record has an additional holder.
func (r *Record) Adds() bool {
	for _, id := range r.allocatedChanges {
		if id != nil {
			return true
		}
	}
	return false
}

// status returns the patch of a pool for the known resourceVersion. It is applied to the object itself, since the status is not a
// subresource. It always contains the required fields of the status, because an unused pool has none.
func (r *Record) status(now counts, conditions []lbv1.Condition) map[string]any {
	status := map[string]any{"total": now.total, "available": now.available, "lastAllocated": now.last}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	r.changesInto(status)
	return map[string]any{"metadata": map[string]any{"resourceVersion": r.Version}, "status": status}
}

// changes returns the patch of a block for the known resourceVersion. It empties managedFields: no client uses server-side apply for
// blocks, and the API server stops tracking them then, which makes writes much cheaper.
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
