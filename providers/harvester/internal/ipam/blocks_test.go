// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

// marked creates a pool whose holders are all stored in blocks.
func marked(t *testing.T, prefix, subnet string, annotations map[string]string) *lbv1.IPPool {
	t.Helper()
	pool := &lbv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{GenerateName: prefix, Annotations: map[string]string{lbv1.BlocksAnnotation: "true"}},
		Spec:       lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: subnet}}},
	}
	for key, value := range annotations {
		pool.Annotations[key] = value
	}
	if err := api.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // another run uses the same addresses
		if err := api.Delete(context.WithoutCancel(t.Context()), pool); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// whole creates a block of 256 addresses, as earlier versions did.
func whole(t *testing.T, pool *lbv1.IPPool, first string, allocated map[string]string) *lbv1.IPPoolBlock {
	t.Helper()
	block := &lbv1.IPPoolBlock{
		ObjectMeta: metav1.ObjectMeta{
			Name: pool.Name + "-" + first, Labels: allocation.BlocksOf(pool.Name),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: lbv1.GroupVersion.String(), Kind: "IPPool", Name: pool.Name, UID: pool.UID}},
		},
		Pool: pool.Name, First: first, Allocated: allocated,
	}
	if err := api.Create(t.Context(), block); err != nil {
		t.Fatal(err)
	}
	return block
}

func TestBlockOfAddress(t *testing.T) {
	t.Parallel()
	for subnet, first := range map[string]string{"10.27.0.0/16": "10.27.0.0 10.27.0.32/27 10.27.0.32-27", "fd00:27::/64": "fd00:27:: fd00:27::20/123 fd000027000000000000000000000020-123"} {
		g := NewWithT(t)
		pool := marked(t, "parts-", subnet, nil)
		claimed(t, ipam.NewAllocator(api, api), pool.Name, named("lb", 200))
		said := map[string]bool{}
		for _, block := range blocks(t, pool.Name) {
			part := netip.MustParsePrefix(block.Part)
			g.Expect(part.Addr().BitLen() - part.Bits()).To(Equal(5))
			for ip := range block.Allocated {
				g.Expect(part.Contains(netip.MustParseAddr(ip))).To(BeTrue(), "%s in %s", ip, part)
			}
			said[block.First+" "+block.Part+" "+strings.TrimPrefix(block.Name, pool.Name+"-")] = true
		}
		g.Expect(said).To(HaveKey(first))
	}
}

func TestBlockOfEarlierVersionIsKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := marked(t, "earlier-", "10.28.0.0/16", nil)
	old := whole(t, pool, "10.28.0.0", map[string]string{"10.28.0.2": "lb/a", "10.28.0.40": "lb/b"})
	allocator := ipam.NewAllocator(api, api)
	b, err := allocator.Claim(t.Context(), pool.Name, "lb/b")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.IP.String()).To(Equal("10.28.0.40"))
	c, err := allocator.Claim(t.Context(), pool.Name, "lb/c")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.IP.String()).To(Equal("10.28.0.3"))
	g.Expect(blocks(t, pool.Name)).To(HaveExactElements(And(HaveField("Name", old.Name), HaveField("Allocated", HaveLen(3)))))

	// Another manager finds all of them; when they are released, the block is deleted and later recreated.
	allocator = ipam.NewAllocator(api, api)
	is, err := updateStatus(t, allocator, pool.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is.Held).To(Equal(3))
	for _, id := range []string{"lb/a", "lb/b", "lb/c"} {
		g.Expect(allocator.Release(t.Context(), pool.Name, id)).To(Succeed())
	}
	now := blocks(t, pool.Name)[0]
	g.Expect(now.AllocatedHistory).To(HaveLen(3))
	now.AllocatedHistory = nil
	g.Expect(api.Update(t.Context(), &now)).To(Succeed())
	allocator = ipam.NewAllocator(api, api)
	_, err = updateStatus(t, allocator, pool.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(blocks(t, pool.Name)).To(BeEmpty())
	_, err = allocator.Claim(t.Context(), pool.Name, "lb/d")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(blocks(t, pool.Name)).To(HaveEach(HaveField("Part", HaveSuffix("/27"))))
}

// A manager of an earlier version that lost the leader election may have a write in flight to a block in one of its open sections.
func TestLateWriteOfEarlierVersionIsFenced(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := marked(t, "upgraded-", "10.29.0.0/16", map[string]string{"loadbalancer.harvesterhci.io/writers": `{"earlier":["10.29.7.0"]}`})
	old := whole(t, pool, "10.29.7.0", map[string]string{"10.29.7.9": "lb/a"})
	_, err := ipam.NewAllocator(api, api).Claim(t.Context(), pool.Name, "lb/b")
	g.Expect(err).NotTo(HaveOccurred())
	late := client.RawPatch(types.MergePatchType, []byte(
		fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"allocated":{"10.29.7.10":"lb/b"}}`, old.ResourceVersion)))
	g.Expect(apierrors.IsConflict(api.Patch(t.Context(), old, late))).To(BeTrue())
}

// The next writer fences empty blocks, too.
func TestLateWriteToBlockAllocatesNoSecondAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := marked(t, "ahead-", "10.30.0.0/16", nil)
	writer := newDetained(`"10.30.0.32"`)
	allocator := ipam.NewAllocator(writer, api)
	claimed(t, allocator, pool.Name, named("first", 30)) // the first block is full: it has neither the network address nor the gateway
	answers := make(chan ipam.Claimed, 1)
	go func() {
		late, err := allocator.Claim(t.Context(), pool.Name, "default/web")
		if err != nil {
			t.Error(err)
		}
		answers <- late
	}()
	<-writer.reached
	given := netip.MustParseAddr("10.30.9.9")
	g.Expect(ipam.NewAllocator(api, api).Give(t.Context(), pool.Name, "default/web", given)).To(Succeed())
	close(writer.let)
	g.Expect((<-answers).IP).To(Equal(given))
	stored := map[string]map[string]string{}
	for _, block := range blocks(t, pool.Name) {
		stored[block.Name] = block.Allocated
	}
	g.Expect(several(stored)).To(BeEmpty())
}

// halfway is a proxy that responds to the first write of a pool with an error status and keeps the write in flight.
type halfway struct {
	client.Writer
	code   int
	object client.Object
	patch  client.Patch
}

func (w *halfway) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if w.patch != nil {
		return w.Writer.Patch(ctx, o, p, opts...)
	}
	w.object, w.patch = o.DeepCopyObject().(client.Object), p
	return apierrors.NewGenericServerResponse(w.code, "PATCH", lbv1.GroupVersion.WithResource("ippools").GroupResource(), o.GetName(), "no upstream", 0, true)
}

func TestLateWriteAfterProxyErrorIsFenced(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			pool := created(t, "halfway-", "", lbv1.Range{Subnet: fmt.Sprintf("172.30.%d.0/24", code-500)})
			writer := &halfway{Writer: api, code: code}
			allocator := ipam.NewAllocator(writer, api)
			_, err := allocator.Claim(t.Context(), pool.Name, "default/a")
			g.Expect(err).To(HaveOccurred())
			g.Expect(allocator.Release(t.Context(), pool.Name, "default/a")).To(Succeed()) // as its load balancer is deleted
			g.Expect(apierrors.IsConflict(api.Patch(t.Context(), writer.object, writer.patch))).To(BeTrue())
			g.Expect(object(t, pool.Name).Status.Allocated).To(BeEmpty())
		})
	}
}

// poolWrites is a writer that counts writes of pools.
type poolWrites struct {
	client.Writer
	count atomic.Int32
}

func (w *poolWrites) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if o.GetObjectKind().GroupVersionKind().Kind == "IPPool" {
		w.count.Add(1)
	}
	return w.Writer.Patch(ctx, o, p, opts...)
}

// The pool may be large.
func TestPoolWithBlocksIsWrittenOnceFor256Addresses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := marked(t, "seldom-", "10.31.0.0/16", nil)
	writer := &poolWrites{Writer: api}
	allocator := ipam.NewAllocator(writer, api)
	for _, id := range named("lb", 2*256) {
		_, err := allocator.Claim(t.Context(), pool.Name, id)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(writer.count.Load()).To(BeEquivalentTo(3), "two addresses of a section are not allocatable")
}
