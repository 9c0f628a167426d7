// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

const (
	// MaxInPool is how many holders the status of a pool has at most, which is a pool of a /22 altogether: with the longest of names that
	// many, and as many in the history, are two thirds of a MiB. Those above are in blocks.
	MaxInPool = 1024

	nameLimit, labelLimit = 253, 63

	// fencedAnnotation changes with nothing but the version of an object.
	fencedAnnotation = "loadbalancer.harvesterhci.io/fenced"
)

// record is a stored object that says who holds addresses: the pool itself, or one of its blocks. An address is in one of them.
type record struct {
	// first is that of the block; it is the zero Addr for the pool.
	first netip.Addr
	// version is that of the object as it is stored; "" when it is not.
	version string
	uid     types.UID
	// These are as they are to be stored. What of that is not stored yet is in the changes; nil there takes a key out.
	allocated, history               map[string]string
	allocatedChanges, historyChanges map[string]*string
	// urgent says that somebody waits for the changes. Others go with the next that are.
	urgent bool
}

func newRecord(o client.Object, first netip.Addr, allocated, history map[string]string) *record {
	r := &record{first: first, allocated: maps.Clone(allocated), history: maps.Clone(history)}
	if r.allocated == nil {
		r.allocated = map[string]string{}
	}
	if r.history == nil {
		r.history = map[string]string{}
	}
	if o != nil {
		r.version, r.uid = o.GetResourceVersion(), o.GetUID()
	}
	r.stored()
	return r
}

// stored says that the object is as the record.
func (r *record) stored() {
	r.allocatedChanges, r.historyChanges, r.urgent = map[string]*string{}, map[string]*string{}, false
}

func (r *record) hold(given, id string) {
	r.allocated[given], r.allocatedChanges[given], r.urgent = id, &id, true
}

func (r *record) release(given string) {
	delete(r.allocated, given)
	r.allocatedChanges[given], r.urgent = nil, true
}

func (r *record) remember(given, id string) {
	r.history[given], r.historyChanges[given] = id, &id
}

func (r *record) forget(given string) {
	delete(r.history, given)
	r.historyChanges[given] = nil
}

func (r *record) isBlock() bool { return r.first.IsValid() }

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
}

// block is the object of a block that is to be made.
func (r *record) block(pool string, uid types.UID) *lbv1.IPPoolBlock {
	owner := metav1.OwnerReference{APIVersion: lbv1.GroupVersion.String(), Kind: "IPPool", Name: pool, UID: uid}
	return &lbv1.IPPoolBlock{
		ObjectMeta: metav1.ObjectMeta{
			Name: blockName(pool, r.first), Labels: BlocksOf(pool), OwnerReferences: []metav1.OwnerReference{owner},
		},
		Pool: pool, First: r.first.String(), Allocated: r.allocated, AllocatedHistory: r.history,
	}
}

// blockName is the name of a block. What is behind the last dash is the address, in which there are none, so no two are the same.
func blockName(pool string, first netip.Addr) string {
	address := first.String()
	if first.Is6() {
		b := first.As16()
		address = hex.EncodeToString(b[:])
	}
	return shorten(pool, nameLimit-1-len(address)) + "-" + address
}

// BlocksOf selects the blocks of a pool.
func BlocksOf(pool string) client.MatchingLabels {
	return client.MatchingLabels{lbv1.PoolLabel: shorten(pool, labelLimit)}
}

// shorten makes a name out of one that is too long, which is another for another.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := hex.EncodeToString(sum[:8])
	return strings.TrimRight(name[:limit-len(tail)-1], "-.") + "." + tail
}

// mergePatch is a patch of the body.
func mergePatch(body map[string]any) (client.Patch, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, data), nil
}
