// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"io"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAnEnvironmentHasWhatItsProvidersDrive(t *testing.T) {
	t.Parallel()
	names := func(steps []step) []string {
		var all []string
		for _, s := range steps {
			all = append(all, s.name)
		}
		return all
	}
	for _, test := range []struct {
		providers       []string
		boot            bool
		images, outside []string
	}{
		{providers: []string{vSphere}, images: []string{"vcenter image"}, outside: []string{"vcenter"}},
		{providers: []string{metal3}, images: []string{"operator image"}, outside: []string{"host kinds", "racks", "bare-metal operator"}},
		{
			providers: []string{metal3, vSphere}, boot: true, images: []string{"machine image", "vcenter image", "operator image"},
			outside: []string{"vcenter", "host kinds", "racks", "bare-metal operator"},
		},
	} {
		g := NewWithT(t)
		e := &Environment{Options: Options{Providers: test.providers, Boot: test.boot}}
		g.Expect(names(e.outside())).To(Equal(test.outside))
		g.Expect(names(e.prepare())).To(ContainElements(test.images))
		g.Expect(names(e.prepare())).To(HaveLen(5 + len(test.images)))
	}
}

func TestAnOperatorOfBootingHostsReachesDocker(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &Environment{Options: Options{Name: "x", Providers: []string{metal3}}, found: findings{operator: "image"}}
	g.Expect(e.operatorArguments("sum")).To(And(ContainElement("--read-only"), Not(ContainElement(ContainSubstring("docker.sock")))))
	g.Expect(e.operatorArguments("sum")).To(ContainElements("io.faultline.environment=x", "io.faultline.source=sum"))
	e.Boot = true
	g.Expect(e.operatorArguments("sum")).To(ContainElements(ContainSubstring("docker.sock"), "--containers", "racks-x"))
	g.Expect(e.operatorArguments("sum")).NotTo(ContainElement("--read-only"))
}

// Docker gives a container the gateway of the network whose name is first, and the node's is to stay.
func TestHostsThatBootAreOnANetworkOfTheirOwn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for provider, network := range map[string]string{vSphere: "kind", metal3: "racks-x"} {
		e := &Environment{Options: Options{Name: "x", Providers: []string{provider}, Boot: true}}
		g.Expect(e.machineNetwork()).To(Equal(network))
		g.Expect(e.machineNetwork() >= "kind").To(BeTrue())
	}
	e := &Environment{Options: Options{Name: "x", Providers: []string{metal3}}}
	g.Expect(e.machineNetwork()).To(Equal("kind"))
	g.Expect(e.connectRacks(t.Context(), io.Discard)).To(Succeed(), "there is nothing to do")
}
