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
	"github.com/faultline-io/faultline/shared/integration"
)

const (
	metal3Pool     = `metaData: {ipAddressesFromPool: [{key: ip, name: p}], dnsServersFromPool: [{key: dns, name: p}]}`
	clusterAPIPool = `
metaData: {ipAddressesFromPool: [{key: ip, name: p, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}]}
networkData: {networks: {ipv4: [{id: a, link: b, fromPoolRef: {name: p, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}}]}}
`
)

// claimed waits for a claim of either API.
func claimed[T client.Object](f *fixture, claim T) T {
	f.t.Helper()
	f.Eventually(func() error { return f.client.Get(f.t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed())
	return claim
}

// allocateAddress fulfils a claim as metal3's IP address manager does.
func (f *fixture) allocateAddress(claim, address string) {
	f.t.Helper()
	c := claimed(f, &ipamv1.IPClaim{ObjectMeta: f.meta(claim)})
	ref := corev1.ObjectReference{Namespace: f.name, Name: "address-of-" + claim}
	f.create(&ipamv1.IPAddress{ObjectMeta: f.meta(ref.Name), Spec: ipamv1.IPAddressSpec{
		Claim: corev1.ObjectReference{Namespace: f.name, Name: claim}, Pool: c.Spec.Pool,
		Address: ipamv1.IPAddressStr(address), Prefix: 24, Gateway: ptr.To[ipamv1.IPAddressStr]("10.0.0.1"),
		DNSServers: []ipamv1.IPAddressStr{"10.0.0.53"},
	}})
	updateStatus(f, c, func(c *ipamv1.IPClaim) { c.Status.Address, c.Status.ErrorMessage = &ref, nil })
}

func (f *fixture) pool() *ipamv1.IPPool {
	f.t.Helper()
	pool := &ipamv1.IPPool{ObjectMeta: f.meta("p"), Spec: ipamv1.IPPoolSpec{NamePrefix: "p"}}
	f.create(pool)
	return pool
}

// machineWithData creates a machine on h-1 whose data is rendered from the template.
func (f *fixture) machineWithData(template string) *infrav1.Metal3Data {
	f.t.Helper()
	f.template(template)
	f.host("h-1")
	f.machine("m-1", "h-1")
	return f.data("t-4", "m-1")
}

func TestAddressOfAMetal3Pool(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.pool()
	data := f.machineWithData(metal3Pool)
	claim := claimed(f, &ipamv1.IPClaim{ObjectMeta: f.meta("t-4-p")})
	f.Expect(claim.Spec.Pool).To(Equal(corev1.ObjectReference{Namespace: f.name, Name: "p"}))
	f.Expect(claim.Labels).To(Equal(data.Labels))
	f.Expect(claim.Finalizers).To(ConsistOf(infrav1.DataFinalizer))
	f.Expect(metav1.IsControlledBy(claim, data)).To(BeTrue())
	f.Consistently(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.Status).To(Equal(infrav1.Metal3DataStatus{}), "it waits for the address")
	}).Should(Succeed())
	f.allocateAddress("t-4-p", "10.0.0.5")
	f.waitForReady(data)
	f.Expect(f.content("m-1-metadata", "metaData")).To(HavePrefix("dns: 10.0.0.53\nip: 10.0.0.5\n"))
}

func TestAFinalizerThatIsRemovedFromAClaimOfAMetal3PoolIsRestored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.pool()
	data := f.machineWithData(metal3Pool)
	claim := claimed(f, &ipamv1.IPClaim{ObjectMeta: f.meta("t-4-p")})
	before := claim.DeepCopy()
	claim.Finalizers, claim.OwnerReferences = nil, nil
	f.Expect(f.client.Patch(t.Context(), claim, client.MergeFrom(before))).To(Succeed())
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Finalizers).To(ConsistOf(infrav1.DataFinalizer))
		g.Expect(metav1.IsControlledBy(claim, data)).To(BeTrue())
	}).Should(Succeed())
}

func TestAddressOfAClusterAPIPool(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	data := f.machineWithData(clusterAPIPool)
	claim := claimed(f, &ipamclusterv1.IPAddressClaim{ObjectMeta: f.meta("t-4-p")})
	f.Expect(claim.Spec).To(Equal(ipamclusterv1.IPAddressClaimSpec{
		ClusterName: "c", PoolRef: ipamclusterv1.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "p"},
	}))
	f.Expect(metav1.IsControlledBy(claim, data)).To(BeTrue())
	updateStatus(f, claim, func(claim *ipamclusterv1.IPAddressClaim) {
		claim.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: "PoolExhausted", Message: "no address is left", LastTransitionTime: metav1.Now(),
		}}
	})
	f.waitForProblem(data, "InClusterIPPool p allocates no address: PoolExhausted: no address is left")
	f.create(&ipamclusterv1.IPAddress{ObjectMeta: f.meta("address"), Spec: ipamclusterv1.IPAddressSpec{
		ClaimRef: ipamclusterv1.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef,
		Address: "10.0.0.6", Prefix: ptr.To[int32](24), Gateway: "10.0.0.1",
	}})
	updateStatus(f, claim, func(claim *ipamclusterv1.IPAddressClaim) {
		claim.Status.Conditions = nil
		claim.Status.AddressRef.Name = "address"
	})
	f.waitForReady(data)
	f.Expect(f.content("m-1-networkdata", "networkData")).To(ContainSubstring("ip_address: 10.0.0.6"))
	f.delete(&infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1")})
	f.delete(data)
	f.waitForDeletion(claim)
	f.waitForDeletion(data)
}

func TestMissingPool(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	data := f.machineWithData(metal3Pool)
	f.waitForProblem(data, "IPPool p, which Metal3DataTemplate t refers to, does not exist: create it")
	f.pool()
	f.waitForProblem(data, "")
	f.allocateAddress("t-4-p", "10.0.0.5")
	f.waitForReady(data)
}

func TestPoolWithoutAddresses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.pool()
	data := f.machineWithData(metal3Pool)
	updateStatus(f, claimed(f, &ipamv1.IPClaim{ObjectMeta: f.meta("t-4-p")}), func(claim *ipamv1.IPClaim) {
		claim.Status.ErrorMessage = ptr.To("Exhausted IP Pools")
	})
	f.waitForProblem(data, "IPPool p does not allocate an address: Exhausted IP Pools")
	f.allocateAddress("t-4-p", "10.0.0.5")
	f.waitForReady(data)
}

// The pool is named by an annotation of the rack's host.
func TestPoolNamedByHostAnnotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	data := f.machineWithData(`networkData: {networks: {ipv4: [{id: a, link: b, fromPoolAnnotation: {object: baremetalhost, annotation: pool}}]}}`)
	f.waitForProblem(data, "spec.networkData.networks.ipv4[0].fromPoolAnnotation: BareMetalHost h-1 has no annotation pool: set it")
	host := &metav1.PartialObjectMetadata{ObjectMeta: f.meta("h-1")}
	host.SetGroupVersionKind(schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"})
	f.Expect(f.client.Patch(t.Context(), host, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"pool":"p"}}}`)))).To(Succeed())
	f.allocateAddress("t-4-p", "10.0.0.5")
	f.waitForReady(data)
}

// With the flag, a host keeps its addresses for the next machine, and they can be preallocated.
func TestClaimsNamedByHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(func(_ *ctrl.Options, r *metal3data.Reconciler) { r.NameClaimsByHost = true })
	f.pool()
	data := f.machineWithData(metal3Pool)
	f.allocateAddress("h-1-p", "10.0.0.5")
	f.waitForReady(data)
	claim := claimed(f, &ipamv1.IPClaim{ObjectMeta: f.meta("h-1-p")})
	f.Expect(claim.Labels).To(Equal(map[string]string{
		clusterv1.ClusterNameLabel: "c", "infrastructure.cluster.x-k8s.io/data-name": "t-4", "infrastructure.cluster.x-k8s.io/pool-name": "p",
	}))

	// The next machine claims the host before the objects of the last one are deleted.
	f.machine("m-2", "h-1")
	next := f.data("t-5", "m-2")
	f.waitForProblem(next, "IPClaim h-1-p belongs to Metal3Data t-4: wait until that is deleted")
	f.delete(&infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1")})
	f.delete(data)
	f.waitForDeletion(data)
	f.delete(&ipamv1.IPAddress{ObjectMeta: f.meta("address-of-h-1-p")})
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(metav1.IsControlledBy(claim, next)).To(BeTrue())
	}).Should(Succeed())
	f.allocateAddress("h-1-p", "10.0.0.5")
	f.waitForReady(next)
}

// A claim that was not released with its data would block its name forever.
func TestForeignClaimBlocks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.pool()
	left := &ipamv1.IPClaim{ObjectMeta: f.meta("t-4-p"), Spec: ipamv1.IPClaimSpec{Pool: corev1.ObjectReference{Name: "p"}}}
	left.Finalizers = []string{infrav1.DataFinalizer}
	left.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Data", Name: "t-4", UID: "gone", Controller: ptr.To(true),
	}}
	f.create(left)
	data := f.machineWithData(metal3Pool)
	f.waitForProblem(data, "IPClaim t-4-p belongs to Metal3Data t-4: wait until that is deleted")
	f.delete(left) // as the garbage collector does
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(left), left)).To(Succeed())
		g.Expect(metav1.IsControlledBy(left, data)).To(BeTrue())
	}).Should(Succeed())
	f.allocateAddress("t-4-p", "10.0.0.5")
	f.waitForReady(data)
}

func TestDeletedClaimIsRecreatedBeforeRendering(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		template string
		claim    func(*fixture) client.Object
	}{
		"IPClaim":        {metal3Pool, func(f *fixture) client.Object { return &ipamv1.IPClaim{ObjectMeta: f.meta("t-4-p")} }},
		"IPAddressClaim": {clusterAPIPool, func(f *fixture) client.Object { return &ipamclusterv1.IPAddressClaim{ObjectMeta: f.meta("t-4-p")} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.start()
			f.pool()
			f.machineWithData(tc.template)
			claim := claimed(f, tc.claim(f))
			first := claim.GetUID()
			f.delete(claim)
			f.Eventually(func(g Gomega) {
				g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
				g.Expect(claim.GetUID()).NotTo(Equal(first))
				g.Expect(claim.GetDeletionTimestamp()).To(BeNil())
			}).Should(Succeed())
		})
	}
}

func TestDeletedClaimIsKeptWhileInUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.pool()
	f.template(metal3Pool)
	f.host("h-1", func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.MetaData = &corev1.SecretReference{Name: "m-1-metadata"}
	})
	f.machine("m-1", "h-1")
	data := f.data("t-4", "m-1")
	f.allocateAddress("t-4-p", "10.0.0.5")
	f.waitForReady(data)
	claim := claimed(f, &ipamv1.IPClaim{ObjectMeta: f.meta("t-4-p")})
	f.delete(claim)
	// The deletion of the Secret makes the data look for its addresses. It is rendered again until the manager observes the
	// deletion of the claim.
	f.Eventually(func(g Gomega) {
		g.Expect(client.IgnoreNotFound(f.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: f.meta("m-1-metadata")}))).To(Succeed())
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(ptr.Deref(data.Status.ErrorMessage, "")).To(Equal(
			"IPClaim t-4-p is being deleted, but BareMetalHost h-1 still uses its address: delete the Machine to release it"))
	}).Should(Succeed())
	f.get(claim)
	f.delete(&infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1")})
	f.delete(data)
	f.waitForDeletion(claim)
	f.waitForDeletion(data)
}

// The data of a running machine is kept, no matter who deletes it; afterwards everything is deleted, whatever objects are
// missing.
func TestDeletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.pool()
	data := f.machineWithData(metal3Pool)
	f.allocateAddress("t-4-p", "10.0.0.5")
	f.waitForReady(data)
	f.delete(data)
	f.waitForProblem(data, "Metal3DataClaim m-1 uses the data: it is deleted with the Metal3Machine")
	claim := claimed(f, &ipamv1.IPClaim{ObjectMeta: f.meta("t-4-p")})
	f.Expect(claim.DeletionTimestamp).To(BeNil())
	for _, o := range []client.Object{
		&infrav1.Metal3DataTemplate{ObjectMeta: f.meta("t")}, &infrav1.Metal3Machine{ObjectMeta: f.meta("m-1")},
		&clusterv1.Machine{ObjectMeta: f.meta("m-1")}, &clusterv1.Cluster{ObjectMeta: f.meta("c")},
		&infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1")},
	} {
		f.delete(o)
	}
	f.waitForDeletion(claim)
	f.waitForDeletion(data)
}

// Deleting all objects of a namespace also deletes the claim.
func TestAddressesAreKeptWhileDataIsInUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.pool()
	data := f.machineWithData(metal3Pool)
	f.allocateAddress("t-4-p", "10.0.0.5")
	f.waitForReady(data)
	ofMachine := &infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1")}
	integration.Update(f.user(), ofMachine, integration.Whole, func(claim *infrav1.Metal3DataClaim) { controllerutil.AddFinalizer(claim, infrav1.MachineFinalizer) })
	f.delete(ofMachine)
	f.delete(data)
	claim := claimed(f, &ipamv1.IPClaim{ObjectMeta: f.meta("t-4-p")})
	f.delete(claim)
	f.Consistently(func() error { return f.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed())
	f.waitForProblem(data, "Metal3DataClaim m-1 uses the data: it is deleted with the Metal3Machine")
	f.delete(&infrav1.Metal3Machine{ObjectMeta: f.meta("m-1")})
	f.waitForDeletion(claim)
	f.waitForDeletion(data)
}

// hidingMapper simulates an API server without metal3's IP address manager.
type hidingMapper struct{ meta.RESTMapper }

func (h hidingMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if kind.Group == ipamv1.GroupVersion.Group {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return h.RESTMapper.RESTMapping(kind, versions...)
}

func TestIPAddressManagerNotInstalled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(func(options *ctrl.Options, _ *metal3data.Reconciler) {
		options.MapperProvider = func(c *rest.Config, h *http.Client) (meta.RESTMapper, error) {
			mapper, err := apiutil.NewDynamicRESTMapper(c, h)
			return hidingMapper{mapper}, err
		}
	})
	data := f.machineWithData(metal3Pool)
	f.waitForProblem(data, "the API of IPPool p is not installed: install the metal3 IP address manager, or use another kind of pool")
	f.delete(&infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1")})
	f.delete(data)
	f.waitForDeletion(data)
}
