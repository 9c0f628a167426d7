// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

func TestRemovedHostAnnotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	example := &infrav1.Metal3Machine{ObjectMeta: f.meta("example"), Spec: infrav1.Metal3MachineSpec{
		Image: infrav1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123456789abcdef"},
	}}
	keep := f.user().Strip(example, "metal3.io/")
	machine := f.machine("one", "cp-0", "rack-1")
	f.Expect(f.waitForReason(machine, infrav1.Metal3MachineAnnotationsRemovedReason)).To(And(
		HavePrefix("no host is claimed: "), ContainSubstring("annotation "+infrav1.HostAnnotation+" of Metal3Machine cp-0")))
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())

	keep()
	update(f, machine, func(machine *infrav1.Metal3Machine) { metav1.SetMetaDataLabel(&machine.ObjectMeta, "touched", "") })
	f.waitForProvisioned(machine)
}
