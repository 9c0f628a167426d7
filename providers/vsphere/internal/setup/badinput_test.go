// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// Each wrong name is reported with its own reason, creates nothing, and is not retried repeatedly.
func TestWrongNamesCreateNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	for reason, change := range map[string]func(*infrav1.VSphereMachine){
		"DatacenterNotFound":   func(m *infrav1.VSphereMachine) { m.Spec.Datacenter = "dc-9" },
		"ResourcePoolNotFound": func(m *infrav1.VSphereMachine) { m.Spec.ResourcePool = "/dc-1/host/zone-a/Resources/none" },
		"FolderNotFound":       func(m *infrav1.VSphereMachine) { m.Spec.Folder = "none" },
		"DatastoreNotFound":    func(m *infrav1.VSphereMachine) { m.Spec.Datastore = "none" },
		"NetworkNotFound":      func(m *infrav1.VSphereMachine) { m.Spec.Network.Devices[0].NetworkName = "none" },
		"TemplateNotFound":     func(m *infrav1.VSphereMachine) { m.Spec.Template = "none" },
		"SnapshotNotFound": func(m *infrav1.VSphereMachine) {
			m.Spec.CloneMode, m.Spec.Snapshot = infrav1.LinkedClone, "none"
		},
	} {
		t.Run(reason, func(t *testing.T) {
			w := w.in(t)
			name := "m-" + strings.ToLower(reason)
			machine := w.machine("one", name, "", func(m *infrav1.VSphereMachine) {
				m.Spec.ResourcePool, m.Spec.Datastore = "/dc-1/host/zone-a/Resources", simulator.SharedDatastore
				change(m)
			})
			vm := &infrav1.VSphereVM{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}}
			w.Eventually(func() error { return w.client.Get(w.t.Context(), client.ObjectKeyFromObject(vm), vm) }).Should(Succeed())
			message := w.waitForCondition(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, reason)
			w.Expect(message).To(Or(ContainSubstring("none"), ContainSubstring("dc-9")), "the message names the value")
			w.Expect(w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, reason)).To(Equal(message))
			before := w.vc.Calls()
			w.Consistently(func() int { return w.vc.Calls()["CloneVM_Task"] }, "300ms").Should(Equal(before["CloneVM_Task"]))
			w.remove(machine)
		})
	}
	w.Expect(w.vms()).To(BeEmpty())
	w.Expect(w.vc.Calls()["CloneVM_Task"]).To(BeZero())
}

func TestMachineWhoseBootstrapSecretHasAnInvalidNameReportsThatAndCanBeDeleted(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.stop()
	machine := w.worker("node")
	owner := &clusterv1.Machine{ObjectMeta: w.meta("node")}
	w.get(owner)
	update(w, owner, func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = ptr.To("50%") })
	w.start()
	w.Expect(w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition,
		infrav1.VSphereVMVirtualMachineWaitingForBootstrapDataReason)).To(ContainSubstring("50% with the bootstrap data does not exist"))
	w.remove(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestForeignVirtualMachineOfTheSameName(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zone := w.threeZones()[0]
	// A machine of another management cluster, in the same folder.
	first := w.machine("one", "cp-a", zone.Name)
	w.waitForProvisioned(first)
	foreign := w.vms()["cp-a"]

	other := w.in(t)
	other.name = integration.NewNamespace(t, w.client)
	other.create(other.secret("account", w.vc.Username(), w.vc.Password()))
	other.start()
	other.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	second := other.machine("one", "cp-a", zone.Name)
	message := other.waitForCondition(second, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineNameConflictReason)
	w.Expect(message).To(ContainSubstring("cp-a"))
	w.Expect(w.vms()["cp-a"]).To(Equal(foreign), "it is left alone")
	other.remove(second)
	w.Expect(w.vms()["cp-a"]).To(Equal(foreign), "also by the deletion of the machine that wanted its name")

	third := other.machine("one", "cp-a2", zone.Name, func(m *infrav1.VSphereMachine) { m.Spec.Naming.Template = "cp-a" })
	other.waitForCondition(third, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineNameConflictReason)
	w.remove(first)
	other.waitForProvisioned(third)
}

func TestWrongAccountAndThumbprint(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.create(w.secret("wrong", w.vc.Username(), "wrong"))
	for name, tc := range map[string]struct {
		change func(*infrav1.VSphereCluster)
		reason string
		repair func(*fixture, *infrav1.VSphereCluster)
	}{
		"thumbprint": {
			func(c *infrav1.VSphereCluster) {
				c.Spec.Thumbprint = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33"
			}, infrav1.ThumbprintMismatchReason,
			func(w *fixture, c *infrav1.VSphereCluster) {
				update(w, c, func(c *infrav1.VSphereCluster) { c.Spec.Thumbprint = w.vc.Thumbprint() })
			},
		},
		"no-secret": {
			func(c *infrav1.VSphereCluster) { c.Spec.IdentityRef.Name = "missing" }, infrav1.CredentialsInvalidReason,
			func(w *fixture, _ *infrav1.VSphereCluster) { w.account("missing") },
		},
		"password": {
			func(c *infrav1.VSphereCluster) { c.Spec.IdentityRef.Name = "wrong" }, infrav1.CredentialsInvalidReason,
			func(w *fixture, _ *infrav1.VSphereCluster) {
				update(w, &corev1.Secret{ObjectMeta: w.meta("wrong")}, func(s *corev1.Secret) { s.Data["password"] = []byte(w.vc.Password()) })
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			cluster := w.cluster(name, func(c *infrav1.VSphereCluster) {
				c.Spec.FailureDomainSelector = nil
				if name != "thumbprint" {
					tc.change(c)
					return
				}
				c.Spec.IdentityRef = infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: "account"}
				tc.change(c)
			})
			message := w.waitForCondition(cluster, infrav1.VSphereClusterVCenterAvailableCondition, tc.reason)
			w.Expect(message).NotTo(ContainSubstring(w.vc.Password()))
			w.Expect(ptr.Deref(cluster.Status.Initialization.Provisioned, false)).To(BeFalse())
			tc.repair(w, cluster)
			w.waitForCondition(cluster, infrav1.VSphereClusterVCenterAvailableCondition, infrav1.VSphereClusterVCenterAvailableReason)
		})
	}
}

func TestSelectorThatMatchesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	message := w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsNoneSelectedReason)
	w.Expect(message).To(ContainSubstring("failureDomainSelector"))
	w.Expect(ptr.Deref(cluster.Status.Initialization.Provisioned, false)).To(BeFalse(), "else control planes would come up without a failure domain")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
}

func TestClusterThatNeverReachedItsVCenterCanBeDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.vc.SetDown(true)
	cluster := w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	machine := w.machine("one", "cp-a", "")
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VCenterUnreachableReason)
	w.remove(machine)
	w.Expect(w.client.Delete(t.Context(), cluster)).To(Succeed())
	w.waitForDeletion(cluster)
}
