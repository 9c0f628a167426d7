// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/shared/testenv"
)

// The API server is real, because conflicts must be.
var (
	api    client.Client
	config *rest.Config
)

func TestMain(m *testing.M) {
	scheme := runtime.NewScheme()
	utilruntime.Must(lbv1.AddToScheme(scheme))
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range []string{"ippools", "ippoolblocks", "loadbalancers"} {
		data, err := os.ReadFile("../../simulator/crds/loadbalancer.harvesterhci.io_" + kind + ".yaml")
		utilruntime.Must(err)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		utilruntime.Must(yaml.Unmarshal(data, crd))
		crds = append(crds, crd)
	}
	testenv.Main(m, testenv.Options{Scheme: scheme, CRDs: crds},
		func(env *envtest.Environment) (err error) {
			config = env.Config
			api, err = client.New(env.Config, client.Options{Scheme: scheme})
			return err
		})
}

// filler holds addresses that must not be allocated.
const filler = "machines/filler"

// harvester is a Harvester with an outdated cache of pools. It counts requests.
type harvester struct {
	client.Client
	cached        sync.Map
	reads, writes atomic.Int32
}

func (h *harvester) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if old, ok := h.cached.Load(key.Name); ok {
		old.(*lbv1.IPPool).DeepCopyInto(obj.(*lbv1.IPPool))
		return nil
	}
	return h.Client.Get(ctx, key, obj, opts...)
}

func (h *harvester) Live() client.Reader { return live{h} }

func (h *harvester) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	h.writes.Add(1)
	return h.Client.Patch(ctx, obj, patch, opts...)
}

type live struct{ h *harvester }

func (l live) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	l.h.reads.Add(1)
	return l.h.Client.Get(ctx, key, obj, opts...)
}

func (l live) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return l.h.List(ctx, list, opts...)
}

func created(t *testing.T, prefix, network string, r lbv1.Range) *lbv1.IPPool {
	t.Helper()
	made := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}, Spec: lbv1.IPPoolSpec{
		Ranges: []lbv1.Range{r}, Selector: lbv1.Selector{Network: network},
	}}
	if err := api.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	return made
}

func stored(t *testing.T, name string) lbv1.IPPoolStatus {
	t.Helper()
	now := &lbv1.IPPool{}
	if err := api.Get(t.Context(), client.ObjectKey{Name: name}, now); err != nil {
		t.Fatal(err)
	}
	return now.Status
}

func TestConcurrentClaimsOfTwoManagers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "busy-", "", lbv1.Range{Subnet: "10.1.0.0/24"})
	const each = 60
	var wg sync.WaitGroup
	claimed := sync.Map{}
	for manager := range 2 {
		h, claimer := &harvester{Client: api}, &ipam.Claimer{}
		for i := range each {
			wg.Go(func() {
				id := fmt.Sprintf("ns/%d-%d", manager, i)
				for { // the next reconcile retries a pool with persistent conflicts
					got, err := claimer.Claim(t.Context(), h, []string{made.Name}, id, nil)
					if err == nil {
						if other, taken := claimed.LoadOrStore(got.IP, id); taken {
							t.Errorf("%s is %s's and %s's", got.IP, id, other)
						}
						return
					}
					if t.Context().Err() != nil {
						return
					}
				}
			})
		}
	}
	wg.Wait()
	status := stored(t, made.Name)
	g.Expect(status.Allocated).To(HaveLen(2 * each))
	g.Expect(status.Available).To(BeEquivalentTo(253 - 2*each))
}

func TestClaimsAreStoredInBatches(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "batch-", "", lbv1.Range{Subnet: "10.2.0.0/24"})
	h, claimer := &harvester{Client: api}, &ipam.Claimer{}
	h.cached.Store(made.Name, made) // the cache never catches up
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if _, err := claimer.Claim(t.Context(), h, []string{made.Name}, fmt.Sprintf("ns/%d", i), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	g.Expect(stored(t, made.Name).Allocated).To(HaveLen(100))
	g.Expect(h.reads.Load()+h.writes.Load()).To(BeNumerically("<", 100), "requests for 100 addresses")
}

func TestClaimWithStaleCache(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "stale-", "", lbv1.Range{Subnet: "10.3.0.0/30"})
	other := &harvester{Client: api}
	_, err := (&ipam.Claimer{}).Claim(t.Context(), other, []string{made.Name}, "default/lb", nil)
	g.Expect(err).NotTo(HaveOccurred())

	h := &harvester{Client: api}
	h.cached.Store(made.Name, made)
	_, err = (&ipam.Claimer{}).Claim(t.Context(), h, []string{made.Name}, "ns/a", nil)
	none := &ipam.NoAddressError{}
	g.Expect(errors.As(err, &none)).To(BeTrue())
	g.Expect(none.Exhausted).To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring("has no free address: add a range")))
	g.Expect(stored(t, made.Name).Allocated).To(HaveLen(1))
}

func TestClaimSkipsUnsuitablePools(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h, claimer := &harvester{Client: api}, &ipam.Claimer{}
	full := created(t, "full-", "", lbv1.Range{Subnet: "10.4.0.1/32"})
	foreign := created(t, "foreign-", "default/vlan2", lbv1.Range{Subnet: "10.4.1.0/24"})
	right := created(t, "right-", "vlan1", lbv1.Range{Subnet: "10.4.2.0/24"})
	pools := []string{"missing", full.Name, foreign.Name, right.Name}
	first, err := claimer.Claim(t.Context(), h, pools, "ns/first", []string{"default/vlan1"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.Pool).To(Equal(full.Name))
	second, err := claimer.Claim(t.Context(), h, pools, "ns/second", []string{"default/vlan1"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.Pool).To(Equal(right.Name))

	// It keeps its address, even when a preceding pool has free addresses again.
	g.Expect(claimer.Release(t.Context(), h, pools, "ns/first")).To(Succeed())
	again, err := claimer.Claim(t.Context(), h, pools, "ns/second", []string{"default/vlan1"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(second))

	_, err = claimer.Claim(t.Context(), h, []string{"missing", foreign.Name}, "ns/third", []string{"default/vlan1"})
	g.Expect(err).To(MatchError(And(
		ContainSubstring("IPPool missing does not exist on Harvester: create it"),
		ContainSubstring("is for network default/vlan2, and the machine is on default/vlan1"))))
}

func TestClaimSkipsDeletedPool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h, claimer := &harvester{Client: api}, &ipam.Claimer{}
	goes := created(t, "goes-", "", lbv1.Range{Subnet: "10.4.3.0/24"})
	controllerutil.AddFinalizer(goes, lbv1.IPPoolFinalizer)
	g.Expect(api.Update(t.Context(), goes)).To(Succeed())
	g.Expect(api.Delete(t.Context(), goes)).To(Succeed())
	stays := created(t, "stays-", "", lbv1.Range{Subnet: "10.4.4.0/24"})
	claimed, err := claimer.Claim(t.Context(), h, []string{goes.Name, stays.Name}, "ns/a", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(claimed.Pool).To(Equal(stays.Name))
	_, err = claimer.Claim(t.Context(), h, []string{goes.Name}, "ns/b", nil)
	var none *ipam.NoAddressError
	g.Expect(errors.As(err, &none)).To(BeTrue())
	g.Expect(none.Pools).To(ConsistOf("IPPool " + goes.Name + " is being deleted and allocates no addresses: name another pool"))
}

// Users who write a pool create it without a status, some of whose fields are required.
func TestPoolWithoutStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	bare := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ranges": []any{map[string]any{"subnet": "10.7.0.1/32"}}}}}
	bare.SetGroupVersionKind(lbv1.GroupVersion.WithKind("IPPool"))
	bare.SetGenerateName("bare-")
	g.Expect(api.Create(t.Context(), bare)).To(Succeed())
	_, err := (&ipam.Claimer{}).Claim(t.Context(), &harvester{Client: api}, []string{bare.GetName()}, "ns/a", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stored(t, bare.GetName())).To(Equal(lbv1.IPPoolStatus{Total: 1, LastAllocated: "10.7.0.1", Allocated: map[string]string{"10.7.0.1": "ns/a"}}))
}

func TestInvalidPoolReportsCause(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	broken := created(t, "broken-", "", lbv1.Range{Subnet: "10.5.0.0"})
	_, err := (&ipam.Claimer{}).Claim(t.Context(), &harvester{Client: api}, []string{broken.Name}, "ns/a", nil)
	g.Expect(err).To(MatchError(ContainSubstring(`allocates no addresses: spec.ranges[0]: subnet "10.5.0.0" must be a CIDR`)))
}

// The next reconcile of a deletion releases the address again, which has another holder by then.
func TestD1RepeatedReleaseKeepsNewHolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h, claimer := &harvester{Client: api}, &ipam.Claimer{}
	made := created(t, "again-", "", lbv1.Range{Subnet: "10.6.0.1/32"})
	pools := []string{made.Name, "gone"}
	_, err := claimer.Claim(t.Context(), h, pools, "ns/a", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(claimer.Release(t.Context(), h, pools, "ns/a")).To(Succeed())
	_, err = claimer.Claim(t.Context(), h, pools, "ns/b", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(claimer.Release(t.Context(), h, pools, "ns/a")).To(Succeed())
	g.Expect(stored(t, made.Name).Allocated).To(Equal(map[string]string{"10.6.0.1": "ns/b"}))
}

func TestForNetworks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, tc := range []struct {
		selector string
		networks []string
		is       bool
	}{
		{"", nil, true},
		{"vlan1", []string{"other/vlan1"}, true},
		{"default/vlan1", []string{"vlan1"}, true},
		{"default/vlan1", []string{"default/vlan2", "default/vlan1"}, true},
		{"default/vlan1", []string{"other/vlan1"}, false},
		{"vlan1", nil, false},
	} {
		g.Expect(ipam.ForNetworks(tc.selector, tc.networks)).To(Equal(tc.is), "%v", tc)
	}
}

func TestClaimAndReleaseAreIdempotent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "allocator-", "", lbv1.Range{Subnet: "10.8.0.1/32"})
	allocator := ipam.NewAllocator(api, api)
	first, err := allocator.Claim(t.Context(), made.Name, "default/lb")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.IP.String()).To(Equal("10.8.0.1"))
	again, err := allocator.Claim(t.Context(), made.Name, "default/lb")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(first))
	_, err = allocator.Claim(t.Context(), made.Name, "default/other")
	g.Expect(err).To(MatchError(allocation.ErrExhausted))
	_, err = allocator.Claim(t.Context(), "missing", "default/lb")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())

	g.Expect(allocator.Release(t.Context(), made.Name, "default/other")).To(Succeed())
	g.Expect(stored(t, made.Name).Allocated).To(HaveLen(1))
	g.Expect(allocator.Release(t.Context(), made.Name, "default/lb")).To(Succeed())
	g.Expect(allocator.Release(t.Context(), made.Name, "default/lb")).To(Succeed())
	g.Expect(allocator.Release(t.Context(), "missing", "default/lb")).To(Succeed())
	g.Expect(stored(t, made.Name).Allocated).To(BeEmpty())
}

// several returns the holders with more than one address.
func several(stored map[string]map[string]string) map[string][]string {
	all := map[string][]string{}
	for _, allocated := range stored {
		for ip, id := range allocated {
			all[id] = append(all[id], ip)
		}
	}
	maps.DeleteFunc(all, func(id string, has []string) bool { return len(has) < 2 || id == filler })
	return all
}

// largePool returns a pool with so many holders that further ones are in blocks, and few free addresses in three of them.
func largePool(subnet string) *lbv1.IPPool {
	pool := smallPool(subnet)
	pool.GenerateName = "large-"
	pool.Status.Allocated = map[string]string{}
	first := netip.MustParsePrefix(subnet).Addr().As4()
	for third := range byte(8) {
		for last := range 256 {
			free := third >= 5 && last >= 100 && last < 116
			if !free {
				pool.Status.Allocated[netip.AddrFrom4([4]byte{first[0], first[1], first[2] + third, byte(last)}).String()] = filler
			}
		}
	}
	return pool
}

// smallPool returns a pool with few addresses, to provoke conflicts.
func smallPool(subnet string) *lbv1.IPPool {
	return &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{GenerateName: "small-"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: subnet}}}}
}
