// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	toolscache "k8s.io/client-go/tools/cache"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

func TestHostnamesOfStoppedGuestsArePruned(t *testing.T) {
	g := NewWithT(t)
	h := &harvesterOf{hostnames: map[string]string{"stays": "stays-inside"}}
	i := of(h)
	for n := range 30 {
		name := fmt.Sprintf("vm-%d", n)
		h.hostnames[name] = name + "-inside"
		h.instances = []kubevirtv1.VirtualMachineInstance{instance("stays"), instance(name)}
		g.Expect(i.guests.find(t.Context(), name+"-inside")).To(Equal(name))
	}
	g.Expect(i.guests.byUID).To(HaveLen(2))
	g.Expect(h.asked).To(Equal(31), "each guest is asked once")
}

func TestSeenNodeIsForgottenOnDeletion(t *testing.T) {
	g := NewWithT(t)
	i := of(&harvesterOf{vms: []kubevirtv1.VirtualMachine{vm("node-1"), vm("node-2"), vm("node-3")}})
	f := &follower{Instances: i}
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		g.Expect(i.InstanceExists(t.Context(), node(name, "harvester://"+name+"-uid"))).To(BeTrue())
	}
	f.nodeDeleted(node("node-1", ""))
	f.nodeDeleted(toolscache.DeletedFinalStateUnknown{Key: "node-2", Obj: node("node-2", "")})
	var seen []any
	i.seen.Range(func(name, _ any) bool {
		seen = append(seen, name)
		return true
	})
	g.Expect(seen).To(ConsistOf("node-3"))
}
