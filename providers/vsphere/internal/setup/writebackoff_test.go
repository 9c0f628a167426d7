// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// startWith starts the manager with a configuration.
func (w *fixture) startWith(config *rest.Config) {
	w.t.Helper()
	w.config = config
	w.start()
}

// newFirstWrites returns a machine of a cluster, whose manager has stopped.
func newFirstWrites(t *testing.T) integration.FirstWrites {
	t.Helper()
	w := newFixtureWithTemplates(t)
	w.stop()
	machine := w.worker("node")
	return integration.FirstWrites{
		User: w.user(), Admin: apiServer, Machine: machine, Finalizer: infrav1.MachineFinalizer,
		Start:              w.startWith,
		ExpectNothing:      func() { w.Expect(w.vms()).To(BeEmpty()) },
		WaitForProvisioned: func() { w.waitForProvisioned(machine) },
	}
}

func TestStrippedFinalizerBacksOff(t *testing.T) { newFirstWrites(t).Stripped() }

func TestConflictingFirstWritesBackOff(t *testing.T) { newFirstWrites(t).Conflicting() }

// This covers each kind of object that the manager writes.
func TestConflictingWritesOfEveryControllerBackOff(t *testing.T) {
	// Not in parallel with other tests, whose objects trigger its controllers, and whose zones and identities the policies
	// change.
	w := newFixture(t, simulator.ThreeZones())
	w.stop()
	quarrel, config := w.user().Contention(apiServer, "")
	w.startWith(config)
	zone := w.threeZones()[0]
	w.cluster("c")
	machine := w.machine("c", "node", zone.Name, fromPools("pool"))
	identity := w.identity("all", &infrav1.AllowedNamespaces{})
	w.fulfillClaim(w.address("node-0-0", "10.0.0.10", 24, "10.0.0.1"))
	w.waitForProvisioned(machine)
	quarrel.About(
		integration.Marked{Object: &infrav1.VSphereCluster{ObjectMeta: w.meta("c")}, Mark: infrav1.ClusterFinalizer},
		integration.Marked{Object: machine, Mark: infrav1.MachineFinalizer},
		integration.Marked{Object: &infrav1.VSphereVM{ObjectMeta: w.meta("node")}, Mark: infrav1.VMFinalizer},
		integration.Marked{Object: zone, Mark: infrav1.DeploymentZoneFinalizer},
		integration.Marked{Object: identity, Mark: infrav1.VSphereClusterIdentityFinalizer},
		integration.Marked{Object: &corev1.Secret{ObjectMeta: w.meta(identity.Spec.SecretName)}, Mark: infrav1.SecretIdentitySetFinalizer},
	)
}

// This covers objects that the controllers above write in addition to their own. A label on a Machine is missing: its removal triggers no reconcile.
func TestConflictingWritesOfOtherObjectsBackOff(t *testing.T) {
	// Not in parallel with other tests, whose objects trigger its controllers, and whose failure domains the policies change.
	w := newFixture(t, simulator.ThreeZones())
	w.stop()
	quarrel, config := w.user().Contention(apiServer, "")
	w.startWith(config)
	zone := w.threeZones()[0]
	w.cluster("c")
	template := w.machineTemplate("workers")
	w.create(template)
	w.machine("c", "waiting", zone.Name, fromPools("pool")) // its claim is never fulfilled
	claim := &ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta("waiting-0-0")}
	w.Eventually(func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed())
	quarrel.About(
		integration.Marked{Object: &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Spec.FailureDomain}}, Mark: "VSphereDeploymentZone " + zone.Name},
		integration.Marked{Object: claim, Mark: infrav1.IPAddressClaimFinalizer},
	)
	quarrel.AboutStatus(template, "capacity")
}
