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
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3data"
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
	f := newFixture(t)
	f.start()
	f.template(plain)
	f.host("h-1")
	f.machine("m-1", "h-1")
	data := f.data("t-4", "m-1")
	f.waitForReady(data)
	f.Expect(data.Finalizers).To(ContainElement(infrav1.DataFinalizer))
	f.Expect(data.Spec.MetaData).To(Equal(&corev1.SecretReference{Namespace: f.name, Name: "m-1-metadata"}))
	f.Expect(data.Spec.NetworkData).To(Equal(&corev1.SecretReference{Namespace: f.name, Name: "m-1-networkdata"}))
	f.Expect(f.content("m-1-metadata", "metaData")).To(Equal(
		"index: \"4\"\nmac: \"00:00:00:00:00:01\"\nmachine: m-1\nproviderid: " + f.name + "/h-1/m-1\n"))
	f.Expect(f.content("m-1-networkdata", "networkData")).To(ContainSubstring(`ethernet_mac_address: "00:00:00:00:00:01"`))

	secret := &corev1.Secret{ObjectMeta: f.meta("m-1-metadata")}
	f.get(secret)
	f.Expect(string(secret.Type)).To(Equal("infrastructure.cluster.x-k8s.io/secret"))
	f.Expect(secret.Labels).To(Equal(map[string]string{clusterv1.ClusterNameLabel: "c"}))
	f.Expect(metav1.IsControlledBy(secret, data)).To(BeTrue())
}

// Starts with the claim, and runs the controller that creates its data.
func TestClaimIsRenderedToSecrets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mgr := f.start()
	f.Expect((&metal3data.TemplateReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}).
		SetupWithManager(t.Context(), mgr, "", controller.Options{MaxConcurrentReconciles: 5})).To(Succeed())
	f.template(plain)
	f.host("h-1")
	f.machine("m-1", "h-1")
	data := &infrav1.Metal3Data{ObjectMeta: f.meta("t-0")}
	f.waitForReady(data)
	f.Expect(f.content("m-1-metadata", "metaData")).To(ContainSubstring("index: \"0\"\n"))

	claim := &infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1")}
	f.delete(claim)
	f.waitForDeletion(data)
	f.waitForDeletion(claim)
}

// The event of each awaited object ends the wait.
func TestDataWaitsForAHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.template(plain)
	f.host("h-1")
	machine := f.machine("m-1", "")
	data := f.data("t-4", "m-1")
	f.waitForIdle(data)
	f.associate(machine, "h-1")
	f.waitForReady(data)
}

func TestMissingHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.template(plain)
	machine := f.machine("m-1", "")
	data := f.data("t-4", "m-1")
	update(f, machine, func(machine *infrav1.Metal3Machine) {
		machine.Annotations = map[string]string{infrav1.HostAnnotation: f.name + "/h-1"}
	})
	f.waitForProblem(data, "BareMetalHost h-1 of Metal3Machine m-1 does not exist")
	f.host("h-1")
	f.associate(machine, "h-1")
	f.waitForReady(data)
}

func TestMissingTemplate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.host("h-1")
	f.machine("m-1", "h-1")
	data := f.data("t-4", "m-1")
	f.waitForProblem(data, "Metal3DataTemplate t does not exist: create it")
	f.template(plain)
	f.waitForReady(data)
}

func TestMissingInterface(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.template(`metaData: {fromHostInterfaces: [{key: a, interface: eth1}]}`)
	host := f.host("h-1")
	f.machine("m-1", "h-1")
	data := f.data("t-4", "m-1")
	f.waitForProblem(data, "spec.metaData.fromHostInterfaces[0].interface: BareMetalHost h-1 has no interface eth1; it has eno1")
	f.Eventually(func(g Gomega) {
		events := &eventsv1.EventList{}
		g.Expect(f.client.List(t.Context(), events, client.InNamespace(f.name))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(HaveField("Reason", "DataNotRendered")))
	}).Should(Succeed())
	updateStatus(f, host, func(host *bmov1alpha1.BareMetalHost) {
		host.Status.HardwareDetails.NIC = append(host.Status.HardwareDetails.NIC, bmov1alpha1.NIC{Name: "eth1", MAC: "00:00:00:00:00:02"})
	})
	f.waitForReady(data)
}

func TestMissingAnnotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.template(`networkData: {links: {ethernets: [{type: phy, id: a, macAddress: {fromAnnotation: {object: machine, annotation: mac}}}]}}`)
	f.host("h-1")
	f.machine("m-1", "h-1")
	data := f.data("t-4", "m-1")
	f.waitForProblem(data, "spec.networkData.links.ethernets[0].macAddress.fromAnnotation: Machine m-1 has no annotation mac: set it")
	update(f, &clusterv1.Machine{ObjectMeta: f.meta("m-1")}, func(machine *clusterv1.Machine) {
		machine.Annotations = map[string]string{"mac": "00:00:00:00:00:0f"}
	})
	f.waitForReady(data)
	f.Expect(data.Spec.MetaData).To(BeNil(), "the template has none")
}

// A host must be reprovisioned with the data that it was provisioned with.
func TestSecretsAreNotRenderedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(&corev1.Secret{ObjectMeta: f.meta("m-1-metadata"), Data: map[string][]byte{"metaData": []byte("mine: yes\n")}})
	f.start()
	f.template(plain)
	f.host("h-1")
	f.machine("m-1", "h-1")
	f.waitForReady(f.data("t-4", "m-1"))
	f.Expect(f.content("m-1-metadata", "metaData")).To(Equal("mine: yes\n"))
	f.Expect(f.content("m-1-networkdata", "networkData")).NotTo(BeEmpty())
}

// After a move, the data has no status and, at first, no host to render from.
func TestMovedDataStaysReady(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(&corev1.Secret{ObjectMeta: f.meta("m-1-metadata"), Data: map[string][]byte{"metaData": []byte("a: b\n")}})
	f.start()
	data := &infrav1.Metal3Data{ObjectMeta: f.meta("t-4"), Spec: infrav1.Metal3DataSpec{
		Template: corev1.ObjectReference{Name: "t"}, Claim: corev1.ObjectReference{Name: "m-1"},
		MetaData: &corev1.SecretReference{Namespace: f.name, Name: "m-1-metadata"},
	}}
	f.create(data)
	f.waitForReady(data)
}

func TestDeletedSecretIsRecreated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.template(plain)
	f.host("h-1")
	f.machine("m-1", "h-1")
	f.waitForReady(f.data("t-4", "m-1"))
	before := f.content("m-1-metadata", "metaData")
	f.delete(&corev1.Secret{ObjectMeta: f.meta("m-1-metadata")})
	secret := &corev1.Secret{ObjectMeta: f.meta("m-1-metadata")}
	f.Eventually(func() error {
		return f.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)
	}).Should(Succeed())
	f.Expect(string(secret.Data["metaData"])).To(Equal(before))
}

// A machine that is created again with the same name must not boot with the addresses of the first.
func TestForeignSecretBlocks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.template(plain)
	f.host("h-1")
	f.machine("m-1", "h-1")
	earlier := &corev1.Secret{ObjectMeta: f.meta("m-1-metadata"), Data: map[string][]byte{"metaData": []byte("old: yes\n")}}
	earlier.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Data", Name: "t-3", UID: "gone", Controller: ptr.To(true),
	}}
	f.create(earlier)
	data := f.data("t-4", "m-1")
	f.waitForProblem(data, "Secret m-1-metadata belongs to Metal3Data t-3 and must be deleted first")
	f.delete(earlier)
	f.waitForReady(data)
	f.Expect(f.content("m-1-metadata", "metaData")).To(ContainSubstring("providerid"))
}

func TestPausedCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cluster := &clusterv1.Cluster{ObjectMeta: f.meta("c")}
	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	f.start()
	f.template(plain)
	f.host("h-1")
	f.machine("m-1", "h-1")
	data := f.data("t-4", "m-1")
	f.Eventually(func() bool {
		f.get(data)
		return conditions.IsTrue(data, clusterv1.PausedCondition)
	}).Should(BeTrue())
	f.Expect(data.Finalizers).To(BeEmpty())
	f.Consistently(func() bool {
		f.get(data)
		return data.Status.Ready
	}).Should(BeFalse())
	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(false) })
	f.waitForReady(data)
}
