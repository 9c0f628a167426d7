// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// workersAre returns a row about workers. Workers that should be in another domain are moved.
func workersAre(name, layout, reason string, change func(*Objects), says ...string) Row {
	return Row{
		Name: name, Workers: layout, Change: change,
		Condition: faultlinev1.WorkersBalancedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: says,
	}
}

// ofWorkers returns rows about workers that are spread over the failure domains.
func ofWorkers() []Row {
	moved := workersAre("workers-nothing-wrong", "aaab", faultlinev1.ReasonMoving, func(*Objects) {},
		"Machine workers-nothing-wrong-md-0 is moved from %a to %c")
	moved.Moves = true
	named := workersAre("workers-eviction-without-end", "ab", faultlinev1.ReasonNotBalanced,
		func(o *Objects) {
			o.Set(faultlinev1.DomainEvicting, o.domain('a'))
			o.Deployment.Spec.Template.Spec.FailureDomain = o.domain('a')
			for _, machine := range o.Machines {
				machine.Spec.FailureDomain = o.domain('a')
			}
		},
		"MachineDeployment workers-eviction-without-end-md names failure domain %a, which is Evicting: its machines stay there until its "+
			"spec.template.spec.failureDomain names another one")
	named.Plan = []string{"its template names failure domain %a, which is Evicting: its machines stay there until its spec.template.spec.failureDomain names another one"}
	return []Row{
		workersAre("workers-unknown-domain", "aaab", faultlinev1.ReasonNotBalanced,
			func(o *Objects) { o.Set(faultlinev1.DomainCordoned, "nowhere") },
			"spec.distribution.failureDomains: nowhere is not a failure domain of this cluster: correct the entry, or remove it"),
		workersAre("workers-all-cordoned", "aab-", faultlinev1.ReasonWorkersWaiting,
			func(o *Objects) { o.Set(faultlinev1.DomainCordoned, o.environment.Domains[:]...) },
			"1 machines wait for a failure domain: none receives machines", "set one to Active in spec.distribution, repair one, or add one"),
		workersAre("workers-all-evicting", "aab", faultlinev1.ReasonNotBalanced,
			func(o *Objects) { o.Set(faultlinev1.DomainEvicting, o.environment.Domains[:]...) },
			"no failure domain is Active for 3 machines: add capacity or a failure domain, or set the state of one to Active in spec.distribution.failureDomains"),
		workersAre("workers-users-mark", "aaab", faultlinev1.ReasonNotBalanced,
			func(o *Objects) { o.Machines[3].Annotations[clusterv1.DeleteMachineAnnotation] = "yes" },
			"Machine workers-users-mark-md-3 has the annotation cluster.x-k8s.io/delete-machine, which Faultline has not set: scale down, or remove it"),
		named,
		moved,
	}
}

// ofLogicalDomains returns rows about workers that are spread over N logical failure domains.
func ofLogicalDomains() []Row {
	logical := func(n int32, required bool) func(*Objects) {
		return func(o *Objects) {
			o.Wanted().Workers.DesiredFailureDomains = ptr.To(n)
			if required {
				o.Wanted().Workers.Required = ptr.To(true)
			}
		}
	}
	tooMany := workersAre("more-than-machines", "--", faultlinev1.ReasonBalanced, logical(5, false),
		"class more-than-machines-md has 2 machines and spec.distribution.workers.desiredFailureDomains is 5: 3 logical failure domains are empty: "+
			"scale up, or lower it")
	tooMany.Status = metav1.ConditionTrue
	return []Row{
		{
			Name: "none", Workers: "--", Change: logical(0, false),
			Refused: []string{"spec.distribution.workers.desiredFailureDomains", "should be greater than or equal to 1"},
		},
		tooMany,
		workersAre("more-than-domains", "----", faultlinev1.ReasonNotBalanced, logical(4, false),
			"has the logical failure domains more-than-domains-md-0, more-than-domains-md-3: add a failure domain, or lower desiredFailureDomains"),
		workersAre("more-than-domains-required", "----", faultlinev1.ReasonWorkersWaiting, logical(4, true),
			"each failure domain has another logical failure domain than more-than-domains-required-md-3, and spec.distribution.workers.required forbids sharing: "+
				"add a failure domain, lower desiredFailureDomains, or set required to false"),
		workersAre("logical-eviction-without-end", "abc", faultlinev1.ReasonNotBalanced,
			func(o *Objects) {
				logical(3, true)(o)
				o.Set(faultlinev1.DomainEvicting, o.domain('a'))
			},
			"each failure domain has another logical failure domain than logical-eviction-without-end-md-", "and spec.distribution.workers.required forbids sharing"),
	}
}
