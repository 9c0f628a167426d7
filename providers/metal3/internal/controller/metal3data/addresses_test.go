// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data_test

import (
	"net/http"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3data"
	"github.com/faultline-io/faultline/shared/testworld"
)

const (
	metal3Pool     = `metaData: {ipAddressesFromPool: [{key: ip, name: p}], dnsServersFromPool: [{key: dns, name: p}]}`
	clusterAPIPool = `
metaData: {ipAddressesFromPool: [{key: ip, name: p, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}]}
networkData: {networks: {ipv4: [{id: a, link: b, fromPoolRef: {name: p, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}}]}}
`
)

// claimed waits for a claim of either API.
func claimed[T client.Object](w *world, claim T) T {
	w.t.Helper()
	w.Eventually(func() error { return w.client.Get(w.t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed())
	return claim
}

// answer fulfils a claim as metal3's IP address manager does.
func (w *world) answer(claim, address string) {
	w.t.Helper()
	c := claimed(w, &ipamv1.IPClaim{ObjectMeta: w.meta(claim)})
	ref := corev1.ObjectReference{Namespace: w.name, Name: "address-of-" + claim}
	w.create(&ipamv1.IPAddress{ObjectMeta: w.meta(ref.Name), Spec: ipamv1.IPAddressSpec{
		Claim: corev1.ObjectReference{Namespace: w.name, Name: claim}, Pool: c.Spec.Pool,
		Address: ipamv1.IPAddressStr(address), Prefix: 24, Gateway: ptr.To[ipamv1.IPAddressStr]("10.0.0.1"),
		DNSServers: []ipamv1.IPAddressStr{"10.0.0.53"},
	}})
	updateStatus(w, c, func(c *ipamv1.IPClaim) { c.Status.Address, c.Status.ErrorMessage = &ref, nil })
}

func (w *world) pool() *ipamv1.IPPool {
	w.t.Helper()
	pool := &ipamv1.IPPool{ObjectMeta: w.meta("p"), Spec: ipamv1.IPPoolSpec{NamePrefix: "p"}}
	w.create(pool)
	return pool
}

// machineWithData creates a machine on h-1 whose data is rendered from the template.
func (w *world) machineWithData(template string) *infrav1.Metal3Data {
	w.t.Helper()
	w.template(template)
	w.host("h-1")
	w.machine("m-1", "h-1")
	return w.data("t-4", "m-1")
}

func TestAddressOfAMetal3Pool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.pool()
	data := w.machineWithData(metal3Pool)
	claim := claimed(w, &ipamv1.IPClaim{ObjectMeta: w.meta("t-4-p")})
	w.Expect(claim.Spec.Pool).To(Equal(corev1.ObjectReference{Namespace: w.name, Name: "p"}))
	w.Expect(claim.Labels).To(Equal(data.Labels))
	w.Expect(claim.Finalizers).To(ConsistOf(infrav1.DataFinalizer))
	w.Expect(metav1.IsControlledBy(claim, data)).To(BeTrue())
	w.Consistently(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.Status).To(Equal(infrav1.Metal3DataStatus{}), "it waits for the address")
	}).Should(Succeed())
	w.answer("t-4-p", "10.0.0.5")
	w.ready(data)
	w.Expect(w.content("m-1-metadata", "metaData")).To(HavePrefix("dns: 10.0.0.53\nip: 10.0.0.5\n"))
}

func TestAddressOfAClusterAPIPool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	data := w.machineWithData(clusterAPIPool)
	claim := claimed(w, &ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta("t-4-p")})
	w.Expect(claim.Spec).To(Equal(ipamclusterv1.IPAddressClaimSpec{
		ClusterName: "c", PoolRef: ipamclusterv1.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "p"},
	}))
	w.Expect(metav1.IsControlledBy(claim, data)).To(BeTrue())
	updateStatus(w, claim, func(claim *ipamclusterv1.IPAddressClaim) {
		claim.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: "PoolExhausted", Message: "no address is left", LastTransitionTime: metav1.Now(),
		}}
	})
	w.problem(data, "InClusterIPPool p gives no address: PoolExhausted: no address is left")
	w.create(&ipamclusterv1.IPAddress{ObjectMeta: w.meta("address"), Spec: ipamclusterv1.IPAddressSpec{
		ClaimRef: ipamclusterv1.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef,
		Address: "10.0.0.6", Prefix: ptr.To[int32](24), Gateway: "10.0.0.1",
	}})
	updateStatus(w, claim, func(claim *ipamclusterv1.IPAddressClaim) {
		claim.Status.Conditions = nil
		claim.Status.AddressRef.Name = "address"
	})
	w.ready(data)
	w.Expect(w.content("m-1-networkdata", "networkData")).To(ContainSubstring("ip_address: 10.0.0.6"))
	w.remove(&infrav1.Metal3DataClaim{ObjectMeta: w.meta("m-1")})
	w.remove(data)
	w.gone(claim)
	w.gone(data)
}

func TestPoolThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	data := w.machineWithData(metal3Pool)
	w.problem(data, "IPPool p, which Metal3DataTemplate t refers to, does not exist: create it")
	w.pool()
	w.problem(data, "")
	w.answer("t-4-p", "10.0.0.5")
	w.ready(data)
}

func TestPoolThatGivesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.pool()
	data := w.machineWithData(metal3Pool)
	updateStatus(w, claimed(w, &ipamv1.IPClaim{ObjectMeta: w.meta("t-4-p")}), func(claim *ipamv1.IPClaim) {
		claim.Status.ErrorMessage = ptr.To("Exhausted IP Pools")
	})
	w.problem(data, "IPPool p gives no address: Exhausted IP Pools")
	w.answer("t-4-p", "10.0.0.5")
	w.ready(data)
}

// The pool is named by an annotation of the rack's host.
func TestPoolOfTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	data := w.machineWithData(`networkData: {networks: {ipv4: [{id: a, link: b, fromPoolAnnotation: {object: baremetalhost, annotation: pool}}]}}`)
	w.problem(data, "spec.networkData.networks.ipv4[0].fromPoolAnnotation: BareMetalHost h-1 has no annotation pool: set it")
	host := &metav1.PartialObjectMetadata{ObjectMeta: w.meta("h-1")}
	host.SetGroupVersionKind(schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"})
	w.Expect(w.client.Patch(t.Context(), host, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"pool":"p"}}}`)))).To(Succeed())
	w.answer("t-4-p", "10.0.0.5")
	w.ready(data)
}

// With the flag, a host keeps its addresses for the next machine, and they can be preallocated.
func TestClaimsNamedByHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(func(_ *ctrl.Options, r *metal3data.Reconciler) { r.NameClaimsByHost = true })
	w.pool()
	data := w.machineWithData(metal3Pool)
	w.answer("h-1-p", "10.0.0.5")
	w.ready(data)
	claim := claimed(w, &ipamv1.IPClaim{ObjectMeta: w.meta("h-1-p")})
	w.Expect(claim.Labels).To(Equal(map[string]string{
		clusterv1.ClusterNameLabel: "c", "infrastructure.cluster.x-k8s.io/data-name": "t-4", "infrastructure.cluster.x-k8s.io/pool-name": "p",
	}))

	// The next machine claims the host before the objects of the last one are deleted.
	w.machine("m-2", "h-1")
	next := w.data("t-5", "m-2")
	w.problem(next, "IPClaim h-1-p belongs to Metal3Data t-4: it must go first")
	w.remove(&infrav1.Metal3DataClaim{ObjectMeta: w.meta("m-1")})
	w.remove(data)
	w.gone(data)
	w.remove(&ipamv1.IPAddress{ObjectMeta: w.meta("address-of-h-1-p")})
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(metav1.IsControlledBy(claim, next)).To(BeTrue())
	}).Should(Succeed())
	w.answer("h-1-p", "10.0.0.5")
	w.ready(next)
}

// A claim that was not released with its data would block its name forever.
func TestClaimLeftBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.pool()
	left := &ipamv1.IPClaim{ObjectMeta: w.meta("t-4-p"), Spec: ipamv1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "p"}}}
	left.Finalizers = []string{infrav1.DataFinalizer}
	left.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Data", Name: "t-4", UID: "gone", Controller: ptr.To(true),
	}}
	w.create(left)
	data := w.machineWithData(metal3Pool)
	w.problem(data, "IPClaim t-4-p belongs to Metal3Data t-4: it must go first")
	w.remove(left) // as the garbage collector does
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(left), left)).To(Succeed())
		g.Expect(metav1.IsControlledBy(left, data)).To(BeTrue())
	}).Should(Succeed())
	w.answer("t-4-p", "10.0.0.5")
	w.ready(data)
}

func TestClaimDeletedByHandWhileTheDataWaitsIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		template string
		claim    func(*world) client.Object
	}{
		"IPClaim":        {metal3Pool, func(w *world) client.Object { return &ipamv1.IPClaim{ObjectMeta: w.meta("t-4-p")} }},
		"IPAddressClaim": {clusterAPIPool, func(w *world) client.Object { return &ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta("t-4-p")} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start()
			w.pool()
			w.machineWithData(tc.template)
			claim := claimed(w, tc.claim(w))
			first := claim.GetUID()
			w.remove(claim)
			w.Eventually(func(g Gomega) {
				g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
				g.Expect(claim.GetUID()).NotTo(Equal(first))
				g.Expect(claim.GetDeletionTimestamp()).To(BeNil())
			}).Should(Succeed())
		})
	}
}

func TestClaimDeletedByHandStaysWhileTheHostHasItsAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.pool()
	w.template(metal3Pool)
	w.host("h-1", func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.MetaData = &corev1.SecretReference{Name: "m-1-metadata"}
	})
	w.machine("m-1", "h-1")
	data := w.data("t-4", "m-1")
	w.answer("t-4-p", "10.0.0.5")
	w.ready(data)
	claim := claimed(w, &ipamv1.IPClaim{ObjectMeta: w.meta("t-4-p")})
	w.remove(claim)
	// The deletion of the Secret makes the data look for its addresses. It is rendered again until the manager observes the
	// deletion of the claim.
	w.Eventually(func(g Gomega) {
		g.Expect(client.IgnoreNotFound(w.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: w.meta("m-1-metadata")}))).To(Succeed())
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(ptr.Deref(data.Status.ErrorMessage, "")).To(Equal(
			"IPClaim t-4-p is being deleted, though BareMetalHost h-1 has its address: it goes with the Machine, delete that"))
	}).Should(Succeed())
	w.get(claim)
	w.remove(&infrav1.Metal3DataClaim{ObjectMeta: w.meta("m-1")})
	w.remove(data)
	w.gone(claim)
	w.gone(data)
}

// The data of a running machine is kept, no matter who deletes it; afterwards everything is deleted, whatever objects are
// missing.
func TestDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.pool()
	data := w.machineWithData(metal3Pool)
	w.answer("t-4-p", "10.0.0.5")
	w.ready(data)
	w.remove(data)
	w.problem(data, "Metal3DataClaim m-1 uses the data: it goes with the Metal3Machine")
	claim := claimed(w, &ipamv1.IPClaim{ObjectMeta: w.meta("t-4-p")})
	w.Expect(claim.DeletionTimestamp).To(BeNil())
	for _, o := range []client.Object{
		&infrav1.Metal3DataTemplate{ObjectMeta: w.meta("t")}, &infrav1.Metal3Machine{ObjectMeta: w.meta("m-1")},
		&clusterv1.Machine{ObjectMeta: w.meta("m-1")}, &clusterv1.Cluster{ObjectMeta: w.meta("c")},
		&infrav1.Metal3DataClaim{ObjectMeta: w.meta("m-1")},
	} {
		w.remove(o)
	}
	w.gone(claim)
	w.gone(data)
}

// Deleting all objects of a namespace also deletes the claim.
func TestTheAddressesOfAMachineThatRunsStayItsOwnWhoeverDeletesTheClaimForItsData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.pool()
	data := w.machineWithData(metal3Pool)
	w.answer("t-4-p", "10.0.0.5")
	w.ready(data)
	ofMachine := &infrav1.Metal3DataClaim{ObjectMeta: w.meta("m-1")}
	testworld.Update(w.user(), ofMachine, testworld.Whole, func(claim *infrav1.Metal3DataClaim) { controllerutil.AddFinalizer(claim, infrav1.MachineFinalizer) })
	w.remove(ofMachine)
	w.remove(data)
	claim := claimed(w, &ipamv1.IPClaim{ObjectMeta: w.meta("t-4-p")})
	w.remove(claim)
	w.Consistently(func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed())
	w.problem(data, "Metal3DataClaim m-1 uses the data: it goes with the Metal3Machine")
	w.remove(&infrav1.Metal3Machine{ObjectMeta: w.meta("m-1")})
	w.gone(claim)
	w.gone(data)
}

// hiding simulates an API server without metal3's IP address manager.
type hiding struct{ meta.RESTMapper }

func (h hiding) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if kind.Group == ipamv1.GroupVersion.Group {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return h.RESTMapper.RESTMapping(kind, versions...)
}

func TestWithoutTheIPAddressManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(func(options *ctrl.Options, _ *metal3data.Reconciler) {
		options.MapperProvider = func(c *rest.Config, h *http.Client) (meta.RESTMapper, error) {
			mapper, err := apiutil.NewDynamicRESTMapper(c, h)
			return hiding{mapper}, err
		}
	})
	data := w.machineWithData(metal3Pool)
	w.problem(data, "there is no API for IPPool p: install the metal3 IP address manager, or use another kind of pool")
	w.remove(&infrav1.Metal3DataClaim{ObjectMeta: w.meta("m-1")})
	w.remove(data)
	w.gone(data)
}
