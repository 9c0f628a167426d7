// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func using(identity *infrav1.VSphereClusterIdentity) func(*infrav1.VSphereCluster) {
	return func(c *infrav1.VSphereCluster) {
		c.Spec.FailureDomainSelector = nil
		c.Spec.IdentityRef = infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: identity.Name}
	}
}

func onServer(vc *simulator.Server) func(*infrav1.VSphereCluster) {
	return func(c *infrav1.VSphereCluster) {
		c.Spec.FailureDomainSelector, c.Spec.Server, c.Spec.Thumbprint = nil, vc.Host(), vc.Thumbprint()
	}
}

func (w *fixture) waitForCredentialsError(cluster *infrav1.VSphereCluster) string {
	w.t.Helper()
	return w.waitForCondition(cluster, infrav1.VSphereClusterVCenterAvailableCondition, infrav1.CredentialsInvalidReason)
}

func tenant(name string) *infrav1.AllowedNamespaces {
	return &infrav1.AllowedNamespaces{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"tenant": name}}}
}

func TestIdentityInUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	identity := w.identity("shared", &infrav1.AllowedNamespaces{})
	w.waitForCondition(identity, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentityAvailableReason)
	cluster := w.cluster("one", using(identity))
	w.waitForAvailable(cluster)
	machine := w.worker("node")
	w.waitForProvisioned(machine)

	w.Expect(w.client.Delete(t.Context(), identity)).To(Succeed())
	message := w.waitForCondition(identity, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentityDeletingReason)
	w.Expect(message).To(ContainSubstring(w.name + "/one"))
	w.remove(machine)
	w.Expect(w.vms()).To(BeEmpty(), "the account was there to the end")
	w.Expect(w.client.Delete(t.Context(), cluster)).To(Succeed())
	w.waitForDeletion(cluster)
	w.waitForDeletion(identity)
	secret := &corev1.Secret{ObjectMeta: w.meta("identity-shared")}
	w.get(secret)
	w.Expect(secret.Finalizers).To(BeEmpty(), "the garbage collector may have it")
}

func TestFormerSecretOfIdentityIsReleased(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	identity := w.identity("moving", &infrav1.AllowedNamespaces{})
	w.waitForCondition(identity, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentityAvailableReason)
	w.create(w.secret("next", w.vc.Username(), w.vc.Password()))
	update(w, identity, func(i *infrav1.VSphereClusterIdentity) { i.Spec.SecretName = "next" })
	for name, owners := range map[string]int{"next": 1, "identity-moving": 0} {
		secret := &corev1.Secret{ObjectMeta: w.meta(name)}
		w.Eventually(func(g Gomega) {
			w.get(secret)
			g.Expect(secret.OwnerReferences).To(HaveLen(owners), name)
			g.Expect(secret.Finalizers).To(HaveLen(owners), name)
		}).Should(Succeed())
	}
}

func TestIdentityAllowedNamespaces(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	one, two, none := w.identity("one", tenant("one")), w.identity("two", tenant("two")), w.identity("none", nil)
	for name, identity := range map[string]*infrav1.VSphereClusterIdentity{"wrong": two, "nobody": none} {
		cluster := w.cluster(name, using(identity))
		w.Expect(w.waitForCredentialsError(cluster)).To(And(ContainSubstring("allowedNamespaces"), ContainSubstring(w.name)))
		w.Expect(cluster.Status.Initialization.Provisioned).To(BeNil())
		update(w, identity, func(i *infrav1.VSphereClusterIdentity) { i.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{} })
		w.waitForAvailable(cluster)
	}
	cluster := w.cluster("one", using(one))
	w.waitForCredentialsError(cluster)
	update(w, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}}, func(ns *corev1.Namespace) {
		ns.Labels["tenant"] = "one"
	})
	w.waitForAvailable(cluster)
}

// A user who may create a cluster chooses its server; an account that the user may use must not be sent to a server of the
// user's own.
func TestAccountServersAreEnforced(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	mine := simulator.Start(t, simulator.ThreeZones())
	bound := w.identity("bound", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { i.Spec.Servers = []string{w.vc.Host()} })
	w.writeFile("username: %s\npassword: %s\nservers: [%s]\n", w.vc.Username(), w.vc.Password(), w.vc.Host())
	own := func(c *infrav1.VSphereCluster) { c.Spec.IdentityRef = infrav1.VSphereIdentityReference{} }
	for name, account := range map[string]func(*infrav1.VSphereCluster){"identity": using(bound), "own": own} {
		cluster := w.cluster(name, account, onServer(mine))
		w.Expect(w.waitForCredentialsError(cluster)).To(And(ContainSubstring(mine.Host()), ContainSubstring(w.vc.Host()), ContainSubstring("spec.server")))
		right := w.cluster(name+"-right", account, onServer(w.vc))
		w.waitForAvailable(right)
	}
	w.Expect(mine.Calls()).To(BeEmpty(), "it received no call at all")

	update(w, bound, func(i *infrav1.VSphereClusterIdentity) { i.Spec.Servers = append(i.Spec.Servers, mine.Host()) })
	w.waitForAvailable(&infrav1.VSphereCluster{ObjectMeta: w.meta("identity")})
}

func TestSecretOfIdentityHasOneOwner(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.waitForAvailable(w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil }))
	identity := w.identity("greedy", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { i.Spec.SecretName = "account" })
	message := w.waitForCondition(identity, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentitySecretAlreadyInUseReason)
	w.Expect(message).To(ContainSubstring("VSphereCluster one"))

	missing := w.identity("missing", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { i.Spec.SecretName = "later" })
	w.waitForCondition(missing, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentitySecretNotAvailableReason)
	w.account("later")
	w.waitForCondition(missing, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentityAvailableReason)
}

// A cluster must not keep a Secret that it no longer uses.
func TestFormerSecretIsReleased(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	first, second := &corev1.Secret{ObjectMeta: w.meta("account")}, &corev1.Secret{ObjectMeta: w.meta("second")}
	owned := func(secret *corev1.Secret, want bool) {
		w.t.Helper()
		w.Eventually(func(g Gomega) {
			w.get(secret)
			g.Expect(len(secret.Finalizers) == 1 && len(secret.OwnerReferences) == 1).To(Equal(want))
			g.Expect(len(secret.Finalizers) == 0 && len(secret.OwnerReferences) == 0).To(Equal(!want))
		}).Should(Succeed())
	}
	owned(first, true)
	w.account("second")
	update(w, cluster, func(c *infrav1.VSphereCluster) { c.Spec.IdentityRef.Name = "second" })
	owned(second, true)
	owned(first, false)
	identity := w.identity("shared", &infrav1.AllowedNamespaces{})
	update(w, cluster, using(identity))
	owned(second, false)
	w.waitForAvailable(cluster)
}

// A zone whose cluster gets a usable account is checked even if a session of that account is already open.
func TestZoneIsCheckedWhenItsClusterGetsAnAccount(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.writeAccount(`""`) // otherwise the manager's account would be used
	w.waitForAvailable(w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil }))
	w.cluster("two", func(c *infrav1.VSphereCluster) { c.Spec.IdentityRef.Name = "later" })
	zone := w.threeZones()[0]
	w.waitForCondition(zone, infrav1.VSphereDeploymentZoneVCenterAvailableCondition, infrav1.CredentialsInvalidReason)
	w.account("later")
	w.waitForCondition(zone, infrav1.VSphereDeploymentZoneVCenterAvailableCondition, infrav1.VSphereDeploymentZoneVCenterAvailableReason)
}

// A zone's own identity need not allow any namespace, and passwords of other accounts do not affect the zone.
func TestZoneIsCheckedWithItsOwnIdentity(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.writeAccount(`""`)
	identity := w.identity("zones", nil)
	w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.IdentityRef.Name = "missing" })
	zone := w.zone("a", infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a"},
		func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
			z.Spec.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: identity.Name}
		})
	w.waitForCondition(zone, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	w.Expect(zone.Status.CheckedBy).To(Equal(infrav1.IdentityAccount))
}

func TestIdentityUsedByZoneIsNotDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	identity := w.identity("of-a-zone", nil)
	zone := w.zone("a", infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a"},
		func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
			z.Spec.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: identity.Name}
		})
	w.waitForCondition(zone, clusterv1.ReadyCondition, clusterv1.ReadyReason)

	w.Expect(w.client.Delete(t.Context(), identity)).To(Succeed())
	message := w.waitForCondition(identity, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentityDeletingReason)
	w.Expect(message).To(ContainSubstring("VSphereDeploymentZone " + zone.Name))
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.waitForDeletion(zone)
	w.waitForDeletion(identity)
}

func TestPasswordRotatedInTheSecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.writeAccount(`""`) // the zone is checked with the account of the Secret
	cluster := w.cluster("one")
	zone := w.threeZones()[0]
	before := w.machine("one", "before", zone.Name)
	w.waitForProvisioned(before)
	w.rotate(func(password string) {
		update(w, &corev1.Secret{ObjectMeta: w.meta("account")}, func(s *corev1.Secret) { s.Data["password"] = []byte(password) })
	})
	w.waitForProvisioned(w.machine("one", "after", zone.Name))
	w.remove(before)
	w.waitForAvailable(cluster)
	w.waitForCondition(zone, clusterv1.ReadyCondition, clusterv1.ReadyReason)
}

func TestPasswordRotatedInManagerFile(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.writeAccount(w.vc.Password())
	cluster := w.cluster("one", func(c *infrav1.VSphereCluster) {
		c.Spec.FailureDomainSelector, c.Spec.IdentityRef = nil, infrav1.VSphereIdentityReference{}
	})
	before := w.worker("before")
	w.waitForProvisioned(before)
	w.rotate(func(password string) { w.writeAccount(password) })
	w.waitForProvisioned(w.worker("after"))
	w.remove(before)
	w.waitForAvailable(cluster)
}

// Without an account there is no session, so no event of a vCenter triggers a reconcile.
func TestManagerFileBecomesUsable(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.writeAccount(`""`)
	cluster := w.cluster("one", func(c *infrav1.VSphereCluster) {
		c.Spec.FailureDomainSelector, c.Spec.IdentityRef = nil, infrav1.VSphereIdentityReference{}
	})
	w.Expect(w.waitForCredentialsError(cluster)).To(ContainSubstring(w.file))
	w.writeAccount(w.vc.Password())
	w.waitForAvailable(cluster)
}

// rotate changes the password in vCenter, then where the manager reads it, and ends the sessions of the old password.
func (w *fixture) rotate(write func(password string)) {
	w.t.Helper()
	w.vc.SetPassword("rotated")
	write("rotated")
	w.vc.ExpireSessions()
}

// writeAccount replaces the manager's file as a whole, as for a projected Secret.
func (w *fixture) writeAccount(password string) {
	w.t.Helper()
	w.writeFile("username: %s\npassword: %s\nservers: [%q]\n", w.vc.Username(), password, w.vc.Host())
}

func (w *fixture) writeFile(format string, args ...any) {
	w.t.Helper()
	next := w.file + ".next"
	w.Expect(os.WriteFile(next, fmt.Appendf(nil, format, args...), 0o600)).To(Succeed())
	w.Expect(os.Rename(next, w.file)).To(Succeed())
}

func TestSessionsExpireDuringClone(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.HoldTasks("CloneVM_Task")
	machine := w.worker("node")
	w.waitForTask("node", "CloneVM_Task")
	w.vc.ExpireSessions()
	w.vc.ReleaseTasks("CloneVM_Task")
	w.waitForProvisioned(machine)
	w.Expect(w.vc.Calls()["CloneVM_Task"]).To(Equal(1))
	w.Expect(w.vms()).To(HaveLen(1))
}

func TestSessionsExpireRepeatedly(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	tag, err := w.vc.TagID("zone-a")
	w.Expect(err).NotTo(HaveOccurred())
	var machines []*infrav1.VSphereMachine
	for i := range 5 {
		machines = append(machines, w.worker(fmt.Sprintf("node-%d", i), func(m *infrav1.VSphereMachine) { m.Spec.TagIDs = []string{tag} }))
		w.vc.ExpireSessions()
	}
	for _, machine := range machines {
		w.waitForProvisioned(machine)
	}
	w.Expect(w.vms()).To(HaveLen(5))
}
