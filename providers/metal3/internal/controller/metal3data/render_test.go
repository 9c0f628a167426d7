// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3datatemplate"
)

const plain = `
metaData:
  objectNames: [{key: machine, object: machine}]
  indexes: [{key: index}]
  fromHostInterfaces: [{key: mac, interface: eno1}]
networkData:
  links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eno1}}]}
`

func TestDataIsRendered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template(plain)
	w.host("h-1")
	w.machine("m-1", "h-1")
	data := w.data("t-4", "m-1")
	w.ready(data)
	w.Expect(data.Finalizers).To(ContainElement(infrav1.DataFinalizer))
	w.Expect(data.Spec.MetaData).To(Equal(&corev1.SecretReference{Namespace: w.name, Name: "m-1-metadata"}))
	w.Expect(data.Spec.NetworkData).To(Equal(&corev1.SecretReference{Namespace: w.name, Name: "m-1-networkdata"}))
	w.Expect(w.content("m-1-metadata", "metaData")).To(Equal(
		"index: \"4\"\nmac: \"00:00:00:00:00:01\"\nmachine: m-1\nproviderid: " + w.name + "/h-1/m-1\n"))
	w.Expect(w.content("m-1-networkdata", "networkData")).To(ContainSubstring(`ethernet_mac_address: "00:00:00:00:00:01"`))

	secret := &corev1.Secret{ObjectMeta: w.meta("m-1-metadata")}
	w.get(secret)
	w.Expect(string(secret.Type)).To(Equal("infrastructure.cluster.x-k8s.io/secret"))
	w.Expect(secret.Labels).To(Equal(map[string]string{clusterv1.ClusterNameLabel: "c"}))
	w.Expect(metav1.IsControlledBy(secret, data)).To(BeTrue())
}

// Starts with the claim, and runs the controller that creates its data.
func TestClaimEndsInSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mgr := w.start()
	w.Expect((&metal3datatemplate.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}).
		SetupWithManager(t.Context(), mgr, "", controller.Options{MaxConcurrentReconciles: 5})).To(Succeed())
	w.template(plain)
	w.host("h-1")
	w.machine("m-1", "h-1")
	data := &infrav1.Metal3Data{ObjectMeta: w.meta("t-0")}
	w.ready(data)
	w.Expect(w.content("m-1-metadata", "metaData")).To(ContainSubstring("index: \"0\"\n"))

	claim := &infrav1.Metal3DataClaim{ObjectMeta: w.meta("m-1")}
	w.remove(claim)
	w.gone(data)
	w.gone(claim)
}

// The event of each awaited object ends the wait.
func TestDataWaitsForAHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template(plain)
	w.host("h-1")
	machine := w.machine("m-1", "")
	data := w.data("t-4", "m-1")
	w.idle(data)
	w.associate(machine, "h-1")
	w.ready(data)
}

func TestDataOfAHostThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template(plain)
	machine := w.machine("m-1", "")
	data := w.data("t-4", "m-1")
	update(w, machine, func(machine *infrav1.Metal3Machine) {
		machine.Annotations = map[string]string{infrav1.HostAnnotation: w.name + "/h-1"}
	})
	w.problem(data, "BareMetalHost h-1, which Metal3Machine m-1 has, does not exist")
	w.host("h-1")
	w.associate(machine, "h-1")
	w.ready(data)
}

func TestDataOfATemplateThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.host("h-1")
	w.machine("m-1", "h-1")
	data := w.data("t-4", "m-1")
	w.problem(data, "Metal3DataTemplate t does not exist: create it")
	w.template(plain)
	w.ready(data)
}

func TestInterfaceThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template(`metaData: {fromHostInterfaces: [{key: a, interface: eth1}]}`)
	host := w.host("h-1")
	w.machine("m-1", "h-1")
	data := w.data("t-4", "m-1")
	w.problem(data, "spec.metaData.fromHostInterfaces[0].interface: BareMetalHost h-1 has no interface eth1; it has eno1")
	w.Eventually(func(g Gomega) {
		events := &eventsv1.EventList{}
		g.Expect(w.client.List(t.Context(), events, client.InNamespace(w.name))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(HaveField("Reason", "DataNotRendered")))
	}).Should(Succeed())
	updateStatus(w, host, func(host *bmov1alpha1.BareMetalHost) {
		host.Status.HardwareDetails.NIC = append(host.Status.HardwareDetails.NIC, bmov1alpha1.NIC{Name: "eth1", MAC: "00:00:00:00:00:02"})
	})
	w.ready(data)
}

func TestAnnotationThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template(`networkData: {links: {ethernets: [{type: phy, id: a, macAddress: {fromAnnotation: {object: machine, annotation: mac}}}]}}`)
	w.host("h-1")
	w.machine("m-1", "h-1")
	data := w.data("t-4", "m-1")
	w.problem(data, "spec.networkData.links.ethernets[0].macAddress.fromAnnotation: Machine m-1 has no annotation mac: set it")
	update(w, &clusterv1.Machine{ObjectMeta: w.meta("m-1")}, func(machine *clusterv1.Machine) {
		machine.Annotations = map[string]string{"mac": "00:00:00:00:00:0f"}
	})
	w.ready(data)
	w.Expect(data.Spec.MetaData).To(BeNil(), "the template has none")
}

// A host must be reprovisioned with the data that it was provisioned with.
func TestSecretsAreNotRenderedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(&corev1.Secret{ObjectMeta: w.meta("m-1-metadata"), Data: map[string][]byte{"metaData": []byte("mine: yes\n")}})
	w.start()
	w.template(plain)
	w.host("h-1")
	w.machine("m-1", "h-1")
	w.ready(w.data("t-4", "m-1"))
	w.Expect(w.content("m-1-metadata", "metaData")).To(Equal("mine: yes\n"))
	w.Expect(w.content("m-1-networkdata", "networkData")).NotTo(BeEmpty())
}

// After a move, the data has no status and, at first, no host to render from.
func TestMovedDataIsReadyAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(&corev1.Secret{ObjectMeta: w.meta("m-1-metadata"), Data: map[string][]byte{"metaData": []byte("a: b\n")}})
	w.start()
	data := &infrav1.Metal3Data{ObjectMeta: w.meta("t-4"), Spec: infrav1.Metal3DataSpec{
		Template: corev1.ObjectReference{Name: "t"}, Claim: corev1.ObjectReference{Name: "m-1"},
		MetaData: &corev1.SecretReference{Namespace: w.name, Name: "m-1-metadata"},
	}}
	w.create(data)
	w.ready(data)
}

func TestSecretThatIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template(plain)
	w.host("h-1")
	w.machine("m-1", "h-1")
	w.ready(w.data("t-4", "m-1"))
	before := w.content("m-1-metadata", "metaData")
	w.remove(&corev1.Secret{ObjectMeta: w.meta("m-1-metadata")})
	secret := &corev1.Secret{ObjectMeta: w.meta("m-1-metadata")}
	w.Eventually(func() error {
		return w.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)
	}).Should(Succeed())
	w.Expect(string(secret.Data["metaData"])).To(Equal(before))
}

// A machine that is created again with the same name must not boot with the addresses of the first.
func TestSecretOfEarlierData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template(plain)
	w.host("h-1")
	w.machine("m-1", "h-1")
	earlier := &corev1.Secret{ObjectMeta: w.meta("m-1-metadata"), Data: map[string][]byte{"metaData": []byte("old: yes\n")}}
	earlier.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Data", Name: "t-3", UID: "gone", Controller: ptr.To(true),
	}}
	w.create(earlier)
	data := w.data("t-4", "m-1")
	w.problem(data, "Secret m-1-metadata belongs to Metal3Data t-3: it must go first")
	w.remove(earlier)
	w.ready(data)
	w.Expect(w.content("m-1-metadata", "metaData")).To(ContainSubstring("providerid"))
}

func TestDataOfAPausedCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("c")}
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	w.start()
	w.template(plain)
	w.host("h-1")
	w.machine("m-1", "h-1")
	data := w.data("t-4", "m-1")
	w.Eventually(func() bool {
		w.get(data)
		return conditions.IsTrue(data, clusterv1.PausedCondition)
	}).Should(BeTrue())
	w.Expect(data.Finalizers).To(BeEmpty())
	w.Consistently(func() bool {
		w.get(data)
		return data.Status.Ready
	}).Should(BeFalse())
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(false) })
	w.ready(data)
}
