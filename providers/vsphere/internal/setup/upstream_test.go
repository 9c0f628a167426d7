// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// Upstream writes the networks of a failure domain into the VSphereVM without recording where they come from.
func TestUpstreamMachineInFailureDomainKeepsNetworks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	zones := w.threeZones()
	w.cluster("c")
	w.stop()
	machine := w.machine("c", "node", zones[0].Name)
	vm := &infrav1.VSphereVM{ObjectMeta: w.meta("node"), Spec: infrav1.VSphereVMSpec{
		VirtualMachineCloneSpec: machine.Spec.VirtualMachineCloneSpec, BootstrapRef: infrav1.VSphereVMBootstrapReference{Name: "node"},
	}}
	vm.Spec.Server, vm.Spec.Thumbprint, vm.Spec.Datacenter = w.vc.Host(), w.vc.Thumbprint(), "dc-1"
	vm.Spec.ResourcePool, vm.Spec.Datastore = "/dc-1/host/zone-a/Resources", "datastore-a"
	vm.Spec.Network.Devices = []infrav1.NetworkDeviceSpec{{NetworkName: "network-a", DHCP4: ptr.To(true), Nameservers: []string{"10.0.0.53"}}}
	vm.Labels[clusterv1.ClusterNameLabel] = "c"
	vm.OwnerReferences = []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereMachine", Name: machine.Name, UID: machine.UID}}
	w.create(vm)

	w.start()
	w.waitForProvisioned(machine)
	update(w, machine, func(m *infrav1.VSphereMachine) { m.Spec.PowerOffMode = infrav1.VirtualMachinePowerOpModeTrySoft })
	w.Eventually(func() infrav1.VirtualMachinePowerOpMode { return w.vsphereVM("node").Spec.PowerOffMode }).Should(
		Equal(infrav1.VirtualMachinePowerOpModeTrySoft), "what may change is carried on")
	w.Expect(w.vsphereVM("node").Spec.Network.Devices).To(Equal(vm.Spec.Network.Devices))
}
