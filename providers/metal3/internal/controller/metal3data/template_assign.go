// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// assignment holds a claim and its data, or the promised index before the data exists.
type assignment struct {
	claim    *infrav1.Metal3DataClaim
	data     *infrav1.Metal3Data
	index    int32
	reserved bool
}

// match returns the assignment of each claim, oldest claims first, and the data without a claim. Data belongs to the claim that
// it names, whatever the status of the claim contains, because the status is lost when a cluster is moved. match sorts claims.
func match(template string, claims []infrav1.Metal3DataClaim, datas []infrav1.Metal3Data) ([]*assignment, []*infrav1.Metal3Data, *indexes) {
	taken := &indexes{held: make(map[int32]string, len(datas)), promised: map[int32]bool{}}
	byClaim := make(map[string]*infrav1.Metal3Data, len(datas))
	for i := range datas {
		data := &datas[i]
		taken.held[data.Spec.Index] = data.Spec.Claim.Name
		if other, ok := byClaim[data.Spec.Claim.Name]; !ok || data.Spec.Index < other.Spec.Index {
			byClaim[data.Spec.Claim.Name] = data
		}
	}
	slices.SortFunc(claims, func(a, b infrav1.Metal3DataClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	assignments := make([]*assignment, 0, len(claims))
	for i := range claims {
		a := &assignment{claim: &claims[i], data: byClaim[claims[i].Name]}
		delete(byClaim, claims[i].Name)
		if a.data != nil {
			a.index, a.reserved = a.data.Spec.Index, true
		} else {
			a.index, a.reserved = taken.reserve(template, a.claim)
		}
		assignments = append(assignments, a)
	}
	orphans := make([]*infrav1.Metal3Data, 0, len(byClaim))
	for _, data := range byClaim {
		orphans = append(orphans, data)
	}
	return assignments, orphans, taken
}

// indexes allocates the smallest free index of a template.
type indexes struct {
	mu sync.Mutex
	// held maps the indexes of existing data to the claims that the data names.
	held map[int32]string
	// promised has the indexes that are recorded in claims or were tried, whether or not their data exists.
	promised map[int32]bool
	next     int32
}

// reserve reserves the index recorded in the claim's status, unless data of another claim holds it. During a change of leadership
// two claims may record the same index. Both keep it until data exists: the other manager may be creating the data of either, so
// a claim that recorded another index would get two.
func (x *indexes) reserve(template string, claim *infrav1.Metal3DataClaim) (int32, bool) {
	if claim.Status.RenderedData == nil {
		return 0, false
	}
	index, ok := indexOf(template, claim.Status.RenderedData.Name)
	if !ok {
		return 0, false
	}
	if owner, held := x.held[index]; held && owner != claim.Name {
		return 0, false
	}
	x.promised[index] = true
	return index, true
}

// take allocates the smallest free index.
func (x *indexes) take() int32 {
	x.mu.Lock()
	defer x.mu.Unlock()
	for ; ; x.next++ {
		if _, held := x.held[x.next]; !held && !x.promised[x.next] {
			x.promised[x.next] = true
			return x.next
		}
	}
}

// dataName returns the name of the Metal3Data with the index. As names are unique, the name also serves as the lock on the index.
func dataName(template string, index int32) string {
	return template + "-" + strconv.Itoa(int(index))
}

// indexOf returns the index in the name of a Metal3Data.
func indexOf(template, name string) (int32, bool) {
	suffix, ok := strings.CutPrefix(name, template+"-")
	if !ok {
		return 0, false
	}
	index, err := strconv.ParseInt(suffix, 10, 32)
	if err != nil || index < 0 || strconv.Itoa(int(index)) != suffix {
		return 0, false
	}
	return int32(index), true
}

// entries returns the indexes of existing data for the template's status.
func entries(datas []infrav1.Metal3Data, assignments []*assignment) []infrav1.IndexEntry {
	byIndex := make(map[int32]string, len(datas))
	for i := range datas {
		byIndex[datas[i].Spec.Index] = datas[i].Spec.Claim.Name
	}
	for _, a := range assignments {
		if a.data != nil {
			byIndex[a.index] = a.claim.Name
		}
	}
	var list []infrav1.IndexEntry
	for index, name := range byIndex {
		list = append(list, infrav1.IndexEntry{Name: name, Index: index})
	}
	slices.SortFunc(list, func(a, b infrav1.IndexEntry) int { return cmp.Compare(a.Index, b.Index) })
	return list
}
