// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func claimOf(name string, age int, rendered string) infrav1.Metal3DataClaim {
	claim := infrav1.Metal3DataClaim{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(int64(1000-age), 0)}}
	if rendered != "" {
		claim.Status.RenderedData = &corev1.ObjectReference{Name: rendered}
	}
	return claim
}

func dataOf(claim string, index int32) infrav1.Metal3Data {
	data := infrav1.Metal3Data{}
	data.Name, data.Spec.Index, data.Spec.Claim.Name = dataName("t", index), index, claim
	return data
}

// given returns the indexes that the controller would assign, without the API server.
func given(claims []infrav1.Metal3DataClaim, datas []infrav1.Metal3Data) map[string]int32 {
	assignments, _, indexes := match("t", claims, datas)
	got := map[string]int32{}
	for _, a := range assignments {
		if !a.reserved {
			a.index = indexes.take()
		}
		got[a.claim.Name] = a.index
	}
	return got
}

func TestAssignments(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		claims []infrav1.Metal3DataClaim
		datas  []infrav1.Metal3Data
		want   map[string]int32
	}{
		"the oldest claims are the first": {
			claims: []infrav1.Metal3DataClaim{claimOf("young", 1, ""), claimOf("old", 3, ""), claimOf("b", 2, ""), claimOf("a", 2, "")},
			want:   map[string]int32{"old": 0, "a": 1, "b": 2, "young": 3},
		},
		"gaps are filled": {
			claims: []infrav1.Metal3DataClaim{claimOf("a", 9, "t-0"), claimOf("c", 8, "t-2"), claimOf("d", 7, ""), claimOf("e", 6, "")},
			datas:  []infrav1.Metal3Data{dataOf("a", 0), dataOf("c", 2)},
			want:   map[string]int32{"a": 0, "c": 2, "d": 1, "e": 3},
		},
		"deleted data keeps its index": {
			claims: []infrav1.Metal3DataClaim{claimOf("b", 1, "")},
			datas:  []infrav1.Metal3Data{dataOf("gone", 0)},
			want:   map[string]int32{"b": 1},
		},
		"a claim that lost its status in a move finds its data": {
			claims: []infrav1.Metal3DataClaim{claimOf("a", 2, ""), claimOf("b", 1, "")},
			datas:  []infrav1.Metal3Data{dataOf("b", 0)},
			want:   map[string]int32{"a": 1, "b": 0},
		},
		"what was promised is kept": {
			claims: []infrav1.Metal3DataClaim{claimOf("a", 2, ""), claimOf("b", 1, "t-0")},
			want:   map[string]int32{"a": 1, "b": 0},
		},
		"what was promised and taken is not": {
			claims: []infrav1.Metal3DataClaim{claimOf("a", 2, "t-0"), claimOf("b", 1, "t-0")},
			datas:  []infrav1.Metal3Data{dataOf("b", 0)},
			want:   map[string]int32{"a": 1, "b": 0},
		},
		"two claims that two managers promised the same index keep it until one has data": {
			claims: []infrav1.Metal3DataClaim{claimOf("a", 3, "t-0"), claimOf("b", 2, "t-0"), claimOf("c", 1, "")},
			want:   map[string]int32{"a": 0, "b": 0, "c": 1},
		},
		"a name of another template is ignored": {
			claims: []infrav1.Metal3DataClaim{claimOf("a", 3, "other-0"), claimOf("b", 2, "t-00"), claimOf("c", 1, "t--1")},
			want:   map[string]int32{"a": 0, "b": 1, "c": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(given(tc.claims, tc.datas)).To(Equal(tc.want))
		})
	}
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, orphans, _ := match("t", []infrav1.Metal3DataClaim{claimOf("a", 1, "")}, []infrav1.Metal3Data{dataOf("a", 0), dataOf("b", 1)})
	g.Expect(orphans).To(HaveLen(1))
	g.Expect(orphans[0].Name).To(Equal("t-1"))
}

func TestEntries(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	created, refused := claimOf("b", 2, ""), claimOf("c", 1, "")
	data := dataOf("b", 1)
	g.Expect(entries([]infrav1.Metal3Data{dataOf("z", 7), dataOf("a", 0)}, []*assignment{
		{claim: &created, data: &data, index: 1, reserved: true}, {claim: &refused, index: 2, reserved: true},
	})).To(HaveExactElements(
		infrav1.IndexEntry{Name: "a", Index: 0}, infrav1.IndexEntry{Name: "b", Index: 1}, infrav1.IndexEntry{Name: "z", Index: 7}))
}

// Indexes are unique, never change, and are the smallest possible.
func TestIndexesAreUniqueStableAndDense(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		names := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,4}"), 0, 30, rapid.ID).Draw(t, "names")
		var claims []infrav1.Metal3DataClaim
		var datas []infrav1.Metal3Data
		had, free := map[string]int32{}, rapid.Permutation(indexesUpTo(40)).Draw(t, "indexes")
		for i, name := range names {
			rendered := ""
			switch rapid.IntRange(0, 3).Draw(t, "state") {
			case 0: // has data and a recorded status
				rendered = dataName("t", free[i])
				fallthrough
			case 1: // has data
				had[name] = free[i]
				datas = append(datas, dataOf(name, free[i]))
			case 2: // has only a promised index
				had[name], rendered = free[i], dataName("t", free[i])
			}
			claims = append(claims, claimOf(name, rapid.IntRange(0, 3).Draw(t, "age"), rendered))
		}
		got := given(claims, datas)
		g.Expect(got).To(HaveLen(len(names)))
		used := map[int32]string{}
		for name, index := range got {
			g.Expect(used).NotTo(HaveKey(index))
			used[index] = name
			if before, ok := had[name]; ok {
				g.Expect(index).To(Equal(before))
			}
		}
		for name, index := range got {
			if _, ok := had[name]; ok {
				continue
			}
			for smaller := range index {
				g.Expect(used).To(HaveKey(smaller), "%s has %d", name, index)
			}
		}
	})
}

func indexesUpTo(n int32) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// The cost must not grow quadratically with the number of machines.
func TestManyClaims(t *testing.T) {
	t.Parallel()
	const n = 20000
	claims := make([]infrav1.Metal3DataClaim, 0, n)
	datas := make([]infrav1.Metal3Data, 0, n)
	for i := range int32(n) {
		claims = append(claims, claimOf(dataName("m", i), 0, ""))
		if i%2 == 0 {
			datas = append(datas, dataOf(dataName("m", i), i))
		}
	}
	start := time.Now()
	NewWithT(t).Expect(given(claims, datas)).To(HaveLen(n))
	NewWithT(t).Expect(time.Since(start)).To(BeNumerically("<", 5*time.Second))
}
