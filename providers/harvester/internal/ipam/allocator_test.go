// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

// claimed claims addresses for many ids concurrently.
func claimed(t *testing.T, allocator *ipam.Allocator, pool string, ids []string) map[string]netip.Addr {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	has := map[string]netip.Addr{}
	for _, id := range ids {
		wg.Go(func() {
			got, err := allocator.Claim(t.Context(), pool, id)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			has[id] = got.IP
		})
	}
	wg.Wait()
	distinct := map[netip.Addr]bool{}
	for _, ip := range has {
		distinct[ip] = true
	}
	if len(distinct) != len(ids) {
		t.Fatalf("%d holders have %d addresses", len(ids), len(distinct))
	}
	return has
}

func updateStatus(t *testing.T, allocator *ipam.Allocator, pool string) (allocation.Summary, error) {
	t.Helper()
	return allocator.UpdateStatus(t.Context(), pool, nil, func(allocation.Summary) (string, string) { return "", "" })
}

func named(prefix string, count int) []string {
	ids := make([]string, count)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s/lb-%d", prefix, i)
	}
	return ids
}

func object(t *testing.T, name string) *lbv1.IPPool {
	t.Helper()
	now := &lbv1.IPPool{}
	if err := api.Get(t.Context(), client.ObjectKey{Name: name}, now); err != nil {
		t.Fatal(err)
	}
	return now
}

func blocks(t *testing.T, pool string) []lbv1.IPPoolBlock {
	t.Helper()
	list := &lbv1.IPPoolBlockList{}
	if err := api.List(t.Context(), list, allocation.BlocksOf(pool)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestHoldersOfLargePoolMoveToBlocks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "large-", "", lbv1.Range{Subnet: "10.16.0.0/16"})
	first := ipam.NewAllocator(api, api)
	few := claimed(t, first, made.Name, named("few", allocation.MaxInPool))
	g.Expect(blocks(t, made.Name)).To(BeEmpty())
	g.Expect(object(t, made.Name).Status.Allocated).To(HaveLen(allocation.MaxInPool))
	g.Expect(object(t, made.Name).Annotations).NotTo(HaveKey(lbv1.BlocksAnnotation))

	more := claimed(t, first, made.Name, named("more", 600))
	now := object(t, made.Name)
	g.Expect(now.Annotations).To(HaveKeyWithValue(lbv1.BlocksAnnotation, "true"))
	g.Expect(now.Status.Allocated).To(HaveLen(allocation.MaxInPool))
	inBlocks := map[string]string{}
	for _, block := range blocks(t, made.Name) {
		g.Expect(metav1.IsControlledBy(&block, now) || block.OwnerReferences[0].UID == now.UID).To(BeTrue())
		for ip, id := range block.Allocated {
			inBlocks[ip] = id
			g.Expect(now.Status.Allocated).NotTo(HaveKey(ip))
		}
	}
	g.Expect(inBlocks).To(HaveLen(600))

	// The counts are correct, and another manager finds the same state.
	second := ipam.NewAllocator(api, api)
	is, err := updateStatus(t, second, made.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is.Held).To(Equal(allocation.MaxInPool + 600))
	g.Expect(object(t, made.Name).Status.Total).To(BeEquivalentTo(65533))
	g.Expect(object(t, made.Name).Status.Available).To(BeEquivalentTo(65533 - allocation.MaxInPool - 600))
	for _, id := range []string{"few/lb-7", "more/lb-7"} {
		again, err := second.Claim(t.Context(), made.Name, id)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.IP).To(Or(Equal(few[id]), Equal(more[id])))
		g.Expect(second.Release(t.Context(), made.Name, id)).To(Succeed())
		g.Expect(second.Release(t.Context(), made.Name, id)).To(Succeed())
	}
	// A returning holder gets its former address, wherever that is recorded, also from the first manager, which has not read the release.
	for _, id := range []string{"few/lb-7", "more/lb-7"} {
		again, err := first.Claim(t.Context(), made.Name, id)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.IP).To(Or(Equal(few[id]), Equal(more[id])))
	}
}

func TestMachineClaimsFromLargePool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "both-", "", lbv1.Range{Subnet: "10.17.0.0/21"})
	allocator := ipam.NewAllocator(api, api)
	has := claimed(t, allocator, made.Name, named("lb", 1100))
	held := map[netip.Addr]bool{}
	for _, ip := range has {
		held[ip] = true
	}
	remote := &harvester{Client: api}
	remote.cached.Store(made.Name, object(t, made.Name))
	claimer := &ipam.Claimer{}
	for i := range 5 {
		id := fmt.Sprintf("ns/machine-%d", i)
		got, err := claimer.Claim(t.Context(), remote, []string{made.Name}, id, nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(held).NotTo(HaveKey(got.IP))
		g.Expect(object(t, made.Name).Status.Allocated).NotTo(HaveKey(got.IP.String()))
		again, err := allocator.Claim(t.Context(), made.Name, id)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.IP).To(Equal(got.IP))
	}
	g.Expect(claimer.Release(t.Context(), remote, []string{made.Name}, "ns/machine-0")).To(Succeed())
	is, err := updateStatus(t, allocator, made.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is.Held).To(Equal(1104))
}

// A user can remove the mark where no webhook validates changes.
func TestRemovedBlocksAnnotation(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "unmarked-", "", lbv1.Range{Subnet: "10.18.0.0/21"})
	has := claimed(t, ipam.NewAllocator(api, api), made.Name, named("lb", 1100))
	bare := object(t, made.Name)
	bare.Annotations, bare.Status.Allocated = nil, nil
	g.Expect(api.Update(t.Context(), bare)).To(Succeed())
	got, err := ipam.NewAllocator(api, api).Claim(t.Context(), made.Name, "lb/new")
	g.Expect(err).NotTo(HaveOccurred())
	for _, block := range blocks(t, made.Name) {
		delete(block.Allocated, "nobody")
		for ip, id := range block.Allocated {
			if id != "lb/new" {
				g.Expect(ip).NotTo(Equal(got.IP.String()))
				g.Expect(has[id].String()).To(Equal(ip))
			}
		}
	}
	g.Expect(object(t, made.Name).Annotations).To(HaveKeyWithValue(lbv1.BlocksAnnotation, "true"))
}

func TestBlocksOfDeletedPoolAreRemoved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := lbv1.Range{Subnet: "10.19.0.0/21"}
	made := created(t, "reborn-", "", r)
	claimed(t, ipam.NewAllocator(api, api), made.Name, named("old", 1100))
	g.Expect(api.Delete(t.Context(), made)).To(Succeed())
	g.Expect(blocks(t, made.Name)).NotTo(BeEmpty())
	reborn := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: made.Name}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{r}}}
	g.Expect(api.Create(t.Context(), reborn)).To(Succeed())
	allocator := ipam.NewAllocator(api, api)
	claimed(t, allocator, made.Name, named("new", 1100))
	is, err := updateStatus(t, allocator, made.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is.Held).To(Equal(1100))
}

func TestACopyOfABlockHoldsNothingAndDoesNotStopItsPool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "copied-", "", lbv1.Range{Subnet: "10.127.0.0/21"})
	first := ipam.NewAllocator(api, api)
	claimed(t, first, made.Name, named("lb", allocation.MaxInPool+10))
	for _, block := range blocks(t, made.Name) {
		for _, prefix := range []string{"a-", "z-"} { // listed before and after the others
			copied := block.DeepCopy()
			copied.ObjectMeta = metav1.ObjectMeta{Name: prefix + block.Name, Labels: block.Labels, OwnerReferences: block.OwnerReferences}
			g.Expect(api.Create(t.Context(), copied)).To(Succeed())
		}
	}
	for name, allocator := range map[string]*ipam.Allocator{"first": first, "second": ipam.NewAllocator(api, api)} {
		claimed(t, allocator, made.Name, named(name, 10))
		g.Expect(allocator.Release(t.Context(), made.Name, name+"/lb-7")).To(Succeed())
	}
	is, err := updateStatus(t, ipam.NewAllocator(api, api), made.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is.Held).To(Equal(allocation.MaxInPool + 28))
	g.Expect(is.Several).To(BeEmpty())
}

func TestBlocksHaveNoManagedFields(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "unnoted-", "", lbv1.Range{Subnet: "10.26.0.0/21"})
	allocator := ipam.NewAllocator(api, api)
	claimed(t, allocator, made.Name, named("lb", allocation.MaxInPool+10))
	g.Expect(allocator.Release(t.Context(), made.Name, "lb/lb-7")).To(Succeed())
	ahead := func(b lbv1.IPPoolBlock) bool { return b.Allocated == nil }
	g.Expect(slices.DeleteFunc(blocks(t, made.Name), ahead)).To(And(Not(BeEmpty()), HaveEach(HaveField("ManagedFields", BeEmpty()))))
	g.Expect(object(t, made.Name).ManagedFields).NotTo(BeEmpty(), "users may apply pools")
}

func TestEmptyBlockIsDeleted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "passing-", "", lbv1.Range{Subnet: "fd00:19::/64"})
	allocator := ipam.NewAllocator(api, api)
	claimed(t, allocator, made.Name, named("stay", allocation.MaxInPool))
	for round := range 4 { // each starts where the last one ended
		ids := named(fmt.Sprintf("round-%d", round), allocation.MaxHistory/2)
		claimed(t, allocator, made.Name, ids)
		var wg sync.WaitGroup
		for _, id := range ids {
			wg.Go(func() {
				if err := allocator.Release(t.Context(), made.Name, id); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	_, err := updateStatus(t, allocator, made.Name)
	g.Expect(err).NotTo(HaveOccurred())
	// The history has the last two rounds, whose addresses are in 33 blocks, of the 65 that had addresses allocated. Seven more were
	// created in advance.
	g.Expect(blocks(t, made.Name)).To(HaveLen(33 + 7))
	again := ipam.NewAllocator(api, api)
	is, err := updateStatus(t, again, made.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is.Held).To(Equal(allocation.MaxInPool))
	g.Expect(object(t, made.Name).Status.Available).To(BeNumerically(">", 1<<62))
}

func TestPoolSizeLimit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	full := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("p", 253)}, Status: lbv1.IPPoolStatus{
		Allocated: map[string]string{}, AllocatedHistory: map[string]string{},
	}}
	id := strings.Repeat("n", 63) + "/" + strings.Repeat("l", 253)
	for i := range allocation.MaxInPool {
		full.Status.Allocated[fmt.Sprintf("fd00:1111:2222:3333:4444:5555:6666:%04x", i)] = id
	}
	for i := range allocation.MaxHistory {
		full.Status.AllocatedHistory[fmt.Sprintf("fd00:1111:2222:3333:4444:5555:7777:%04x", i)] = id
	}
	data, err := json.Marshal(full)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(data)).To(BeNumerically("<", 1<<20))
}

// A write that takes effect after its response timed out is found by the next reader of the pool.
func TestRepair(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "several-", "", lbv1.Range{Subnet: "10.20.0.0/24"})
	made.Status = lbv1.IPPoolStatus{Allocated: map[string]string{
		"10.20.0.2": "default/a", "10.20.0.3": "default/a", "10.20.0.4": "default/b", "10.20.0.5": "default/b",
		"10.20.0.6": "machines/c", "10.20.0.7": "machines/c",
	}}
	g.Expect(api.Update(t.Context(), made)).To(Succeed())
	allocator := ipam.NewAllocator(api, api)
	uses := func(_ context.Context, id string) ([]netip.Addr, bool, error) {
		switch id {
		case "default/a":
			return []netip.Addr{netip.MustParseAddr("10.20.0.3")}, true, nil
		case "default/b":
			return nil, true, nil
		}
		return nil, false, nil
	}
	is, err := updateStatus(t, allocator, made.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is.Several).To(Equal([]string{"default/a", "default/b", "machines/c"}))
	g.Expect(allocator.Repair(t.Context(), made.Name, is.Several, uses)).To(Succeed())
	g.Expect(object(t, made.Name).Status.Allocated).To(Equal(map[string]string{
		"10.20.0.3": "default/a", "10.20.0.4": "default/b", "10.20.0.6": "machines/c", "10.20.0.7": "machines/c",
	}))
}

func TestGive(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "give-", "", lbv1.Range{Subnet: "10.21.0.0/24"})
	allocator := ipam.NewAllocator(api, api)
	_, err := allocator.Claim(t.Context(), made.Name, "default/a")
	g.Expect(err).NotTo(HaveOccurred())
	shown := netip.MustParseAddr("10.21.0.9")
	g.Expect(allocator.Give(t.Context(), made.Name, "default/a", shown)).To(Succeed())
	g.Expect(allocator.Give(t.Context(), made.Name, "default/a", shown)).To(Succeed())
	g.Expect(object(t, made.Name).Status.Allocated).To(Equal(map[string]string{"10.21.0.9": "default/a"}))
	g.Expect(allocator.Give(t.Context(), made.Name, "default/b", shown)).To(MatchError(allocation.ErrHeld))
	g.Expect(allocator.Give(t.Context(), made.Name, "default/b", netip.MustParseAddr("10.22.0.9"))).To(MatchError(allocation.ErrOutside))
}

func TestShownAddressOutsideScopeIsFree(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "stranger-", "", lbv1.Range{Subnet: "172.31.0.0/30"}) // a single address
	made.Spec.Selector.Scope = []lbv1.Tuple{{Project: "*", Namespace: "elsewhere", GuestCluster: "*"}}
	g.Expect(api.Update(t.Context(), made)).To(Succeed())
	stranger := &lbv1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "stranger-"},
		Status:     lbv1.LoadBalancerStatus{AllocatedAddress: lbv1.AllocatedAddress{IPPool: made.Name, IP: "172.31.0.2"}},
	}
	g.Expect(api.Create(t.Context(), stranger)).To(Succeed())
	allocator := ipam.NewAllocator(api, api).WithScopes()
	_, err := updateStatus(t, allocator, made.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(object(t, made.Name).Status.Allocated).To(BeEmpty())
	claimed, err := allocator.Claim(t.Context(), made.Name, "elsewhere/lb")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(claimed.IP.String()).To(Equal("172.31.0.2"))
}

func TestStatusUpdateReadsChangesOfOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "foreign-", "", lbv1.Range{Subnet: "10.23.0.0/29"})
	allocator := ipam.NewAllocator(api, api)
	got, err := allocator.Claim(t.Context(), made.Name, "default/a")
	g.Expect(err).NotTo(HaveOccurred())
	by := object(t, made.Name) // edited by a user
	by.Status.Allocated = map[string]string{got.IP.String(): "default/other", "10.23.0.4": "default/other", "10.23.0.5": "x/y", "10.23.0.6": "x/z"}
	g.Expect(api.Update(t.Context(), by)).To(Succeed())
	again, err := allocator.Claim(t.Context(), made.Name, "default/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.IP.String()).To(Equal("10.23.0.3"))
	_, err = allocator.Claim(t.Context(), made.Name, "default/b")
	g.Expect(err).To(MatchError(allocation.ErrExhausted))

	by = object(t, made.Name)
	delete(by.Status.Allocated, "10.23.0.5")
	g.Expect(api.Update(t.Context(), by)).To(Succeed())
	last, err := allocator.Claim(t.Context(), made.Name, "default/b")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(last.IP.String()).To(Equal("10.23.0.5"))
}

func TestReleaseToInvalidPool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "spoilt-", "", lbv1.Range{Subnet: "10.24.0.0/24"})
	allocator := ipam.NewAllocator(api, api)
	_, err := allocator.Claim(t.Context(), made.Name, "default/a")
	g.Expect(err).NotTo(HaveOccurred())
	spoilt := object(t, made.Name)
	spoilt.Spec.Ranges[0].Subnet = "10.24"
	g.Expect(api.Update(t.Context(), spoilt)).To(Succeed())
	_, err = allocator.Claim(t.Context(), made.Name, "default/b")
	g.Expect(err).To(MatchError(ContainSubstring("spec.ranges[0]")))
	g.Expect(allocator.Release(t.Context(), made.Name, "default/a")).To(Succeed())
	g.Expect(object(t, made.Name).Status.Allocated).To(BeEmpty())
}

func TestReadyPoolAllocatesAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "mended-", "", lbv1.Range{Subnet: "10.99.0.0/24"})
	allocator := ipam.NewAllocator(api, api)
	obstacles := field.ErrorList{field.Invalid(field.NewPath("spec", "ranges").Index(0), "10.99.0.0/24", "has addresses of another")}
	_, err := allocator.UpdateStatus(t.Context(), made.Name, obstacles, func(allocation.Summary) (string, string) { return "RangesInvalid", "no addresses are allocated" })
	g.Expect(err).NotTo(HaveOccurred())
	_, err = allocator.Claim(t.Context(), made.Name, "default/a")
	g.Expect(err).To(MatchError(ContainSubstring("has addresses of another")))

	claimed := make(chan error)
	ask := sync.OnceFunc(func() {
		go func() {
			_, err := allocator.Claim(t.Context(), made.Name, "default/a")
			claimed <- err
		}()
		<-time.After(50 * time.Millisecond) // it is now queued behind the write of the condition
	})
	_, err = allocator.UpdateStatus(t.Context(), made.Name, nil, func(allocation.Summary) (string, string) {
		ask()
		return "", ""
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(<-claimed).NotTo(HaveOccurred())
}

// The webhook may not see one of two pools that are created at the same time.
func TestLaterOfOverlappingPoolsAllocatesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first := created(t, "a-", "", lbv1.Range{Subnet: "10.25.0.0/24"})
	second := created(t, "b-", "", lbv1.Range{Subnet: "10.25.0.0/25"})
	allocator := ipam.NewAllocator(api, api)
	_, err := allocator.Claim(t.Context(), first.Name, "default/a")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = allocator.Claim(t.Context(), second.Name, "default/b")
	g.Expect(err).To(MatchError(And(ContainSubstring("allocates no addresses"), ContainSubstring("spec.ranges[0]"), ContainSubstring(first.Name))))
	// Once the other pool is deleted, it does.
	g.Expect(api.Delete(t.Context(), first)).To(Succeed())
	_, err = updateStatus(t, allocator, second.Name)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = allocator.Claim(t.Context(), second.Name, "default/b")
	g.Expect(err).NotTo(HaveOccurred())
}

// Two users have created them at the same moment, and the webhook has not seen the overlap.
func TestAddressHeldInYoungerPoolIsNotAllocated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	older := created(t, "shared-a-", "", lbv1.Range{Subnet: "10.63.0.0/29"}) // .2 to .6
	early := ipam.NewAllocator(api, api)
	_, err := early.Claim(t.Context(), older.Name, "default/early")
	g.Expect(err).NotTo(HaveOccurred())
	younger := created(t, "shared-b-", "", lbv1.Range{Subnet: "10.63.0.0/28"})
	younger.Status.Allocated = map[string]string{"10.63.0.3": "machines/m", "10.63.0.4": "default/lb"}
	g.Expect(api.Update(t.Context(), younger)).To(Succeed())
	early.Reread(older.Name)
	for i, allocator := range []*ipam.Allocator{early, ipam.NewAllocator(api, api)} {
		got, err := allocator.Claim(t.Context(), older.Name, fmt.Sprintf("default/next-%d", i))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got.IP.String()).To(Equal(fmt.Sprintf("10.63.0.%d", 5+i)))
		g.Expect(allocator.Give(t.Context(), older.Name, "default/none", netip.MustParseAddr("10.63.0.3"))).To(MatchError(allocation.ErrHeld))
	}
	_, err = early.Claim(t.Context(), older.Name, "default/none")
	g.Expect(err).To(MatchError(allocation.ErrExhausted))
	younger.Status.Allocated = nil
	g.Expect(api.Update(t.Context(), younger)).To(Succeed())
	got, err := early.Claim(t.Context(), older.Name, "default/none")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.IP.String()).To(Equal("10.63.0.3"))
}
