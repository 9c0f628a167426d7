// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// What is refused of a whole object is known to kubectl fd preflight, too.
func TestWhatIsRefusedOfObjectsIsShared(t *testing.T) {
	var refusals []rulestest.Refusal
	add := func(name, kind, called string, spec any, errs field.ErrorList) {
		refusals = append(refusals, rulestest.NewRefusal(name, rulestest.Written(t, kind, called, spec), errs))
	}
	for name, ref := range map[string]string{"a pool of one name": "", "a pool of two names": "other", "a pool that upstream has recorded": "default-demo-ippool"} {
		cluster := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("Demo"), Spec: validCluster()}
		cluster.Spec.LoadBalancerConfig.IPPoolRef = ref
		add(name, "HarvesterCluster", "Demo", cluster.Spec, validateClusterObject(cluster))
	}
	empty := &infrav1.HarvesterCluster{}
	add("a cluster of nothing", "HarvesterCluster", "m", empty.Spec, validateClusterObject(empty))
	of := &infrav1.HarvesterClusterTemplate{}
	of.Spec.Template.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.DHCP, IPPoolRef: "pool"}
	add("a ClusterClass with DHCP and a pool", "HarvesterClusterTemplate", "m", of.Spec,
		validateCluster(of.Spec.Template.Spec, field.NewPath("spec", "template", "spec")))

	machine := &infrav1.HarvesterMachine{ObjectMeta: rulestest.Named("m")}
	add("a machine of nothing", "HarvesterMachine", "m", machine.Spec, validateMachineObject(machine))
	machine.Name, machine.Spec = strings.Repeat("a", 64), validMachine()
	add("a long name", "HarvesterMachine", machine.Name, machine.Spec, validateMachineObject(machine))
	for name, change := range map[string]func(*infrav1.HarvesterMachineSpec){
		"a template":                                func(*infrav1.HarvesterMachineSpec) {},
		"a template that is filled in later":        func(s *infrav1.HarvesterMachineSpec) { *s = infrav1.HarvesterMachineSpec{CPU: 2} },
		"a template with a provider ID":             func(s *infrav1.HarvesterMachineSpec) { s.ProviderID = "harvester://a" },
		"a template with memory that is no amount":  func(s *infrav1.HarvesterMachineSpec) { s.Memory = "much" },
		"a template with an image in no namespace":  func(s *infrav1.HarvesterMachineSpec) { s.Volumes[0].ImageName = "/ubuntu" },
		"a template whose network is called a/b/c":  func(s *infrav1.HarvesterMachineSpec) { s.Networks = []string{"a/b/c"} },
		"a template with Secure Boot without UEFI":  func(s *infrav1.HarvesterMachineSpec) { s.Firmware = &infrav1.Firmware{SecureBoot: true} },
		"a template that may boot from two volumes": func(s *infrav1.HarvesterMachineSpec) { s.Volumes[1].BootOrder = s.Volumes[0].BootOrder },
	} {
		template := newTemplate(change)
		add(name, "HarvesterMachineTemplate", "m", template.Spec,
			validateMachineTemplate(template.Spec.Template.Spec, field.NewPath("spec", "template", "spec")))
	}
	rulestest.Shared(t, shared, refusals)
}
