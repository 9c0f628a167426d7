// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// startWith starts the manager with a configuration.
func (f *fixture) startWith(config *rest.Config) {
	f.t.Helper()
	f.config = config
	f.start()
}

// newFirstWrites returns a machine with an available host. No manager runs yet.
func newFirstWrites(t *testing.T) integration.FirstWrites {
	t.Helper()
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 1))
	f.cluster("c")
	machine := f.machine("c", "m", "")
	return integration.FirstWrites{
		User: f.user(), Admin: f.config, Machine: machine, Finalizer: infrav1.MachineFinalizer,
		Start: f.startWith,
		ExpectNothing: func() {
			hosts := &bmov1alpha1.BareMetalHostList{}
			f.Expect(f.client.List(t.Context(), hosts, client.InNamespace(f.name))).To(Succeed())
			f.Expect(hosts.Items).To(HaveEach(HaveField("Spec.ConsumerRef", BeNil())))
		},
		WaitForProvisioned: func() { f.waitForProvisioned(machine) },
	}
}

func TestStrippedFinalizerBacksOff(t *testing.T) { newFirstWrites(t).Stripped() }

func TestConflictingFirstWritesBackOff(t *testing.T) { newFirstWrites(t).Conflicting() }

// For each kind of object that the manager writes.
func TestRevertedWritesAreRepeatedWithBackoff(t *testing.T) {
	// Not parallel to other tests, whose objects enqueue its controllers.
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 2))
	quarrel, config := f.user().Contention(f.config, "")
	f.startWith(config)
	f.cluster("one", "rack-1")
	f.pooled("addressed")
	machine := f.machine("one", "given", "rack-1", usesData("addressed"))
	f.allocateAddress(&ipamclusterv1.IPAddressClaim{ObjectMeta: f.meta("addressed-0-p")}, "10.0.0.5")
	host := f.waitForProvisioned(machine)
	waiting := f.machine("one", "waiting", "rack-1", usesData("addressed")) // its address claim is never fulfilled
	f.waitForCondition(waiting, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineWaitingForMetal3DataReason)
	data := &infrav1.Metal3Data{ObjectMeta: f.meta("addressed-1")}
	f.Eventually(func() error { return f.client.Get(t.Context(), client.ObjectKeyFromObject(data), data) }).Should(Succeed())
	quarrel.About(
		integration.Marked{Object: &infrav1.Metal3Cluster{ObjectMeta: f.meta("one")}, Mark: infrav1.ClusterFinalizer},
		integration.Marked{Object: &infrav1.Metal3DataTemplate{ObjectMeta: f.meta("addressed")}, Mark: infrav1.DataTemplateFinalizer},
		integration.Marked{Object: machine, Mark: infrav1.MachineFinalizer},
		integration.Marked{Object: data, Mark: infrav1.DataFinalizer},
	)
	quarrel.About(
		integration.Marked{Object: &infrav1.Metal3DataClaim{ObjectMeta: f.meta("given")}, Mark: infrav1.DataClaimFinalizer},
		integration.Marked{Object: host, Mark: clusterctlv1.BlockMoveAnnotation},
		integration.Marked{Object: &ipamclusterv1.IPAddressClaim{ObjectMeta: f.meta("addressed-1-p")}, Mark: infrav1.DataFinalizer},
	)
	template, _ := f.template("any")
	quarrel.AboutStatus(template, "capacity")
}

// For a remediation, which waits until the volumes of its Node are detached, and claims of metal3's own pools.
func TestRevertedWritesOfRemediationsAndIPClaimsAreRepeatedWithBackoff(t *testing.T) {
	// Not parallel to other tests, whose objects enqueue its controllers.
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 2))
	quarrel, config := f.user().Contention(f.config, "")
	f.startWith(config)
	p := f.unhealthyMachine()
	p.volume()
	remediation := p.remediate(1)
	p.Eventually(func() []corev1.Taint { return p.node().Spec.Taints }).Should(outOfService())
	f.create(&ipamv1.IPPool{ObjectMeta: f.meta("p"), Spec: ipamv1.IPPoolSpec{NamePrefix: "p"}})
	f.create(&infrav1.Metal3DataTemplate{ObjectMeta: f.meta("addressed"), Spec: infrav1.Metal3DataTemplateSpec{
		ClusterName: "one", MetaData: &infrav1.MetaData{IPAddressesFromPool: []infrav1.FromPool{{
			Key: "ip", IPPoolReference: infrav1.IPPoolReference{Name: "p", Kind: "IPPool", APIGroup: ipamv1.GroupVersion.Group},
		}}},
	}})
	f.machine("one", "waiting", "rack-1", usesData("addressed"))
	claim := &ipamv1.IPClaim{ObjectMeta: f.meta("addressed-0-p")}
	f.Eventually(func() error { return f.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed())
	quarrel.About(
		integration.Marked{Object: remediation, Mark: infrav1.RemediationFinalizer},
		integration.Marked{Object: claim, Mark: infrav1.DataFinalizer},
	)
}
