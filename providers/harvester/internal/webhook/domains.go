// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules"
	"github.com/faultline-io/faultline/shared/rules/affinity"
	"github.com/faultline-io/faultline/shared/rules/naming"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachines,verbs=get;list;watch

// validateDomains has the rules of failure domains, and of what is wanted of
// them.
func validateDomains(spec infrav1.HarvesterClusterSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.FailureDomainTopologyKey != "" {
		errs = append(errs, affinity.ValidateKey(spec.FailureDomainTopologyKey, path.Child("failureDomainTopologyKey"))...)
	}
	taken := map[string]string{}
	for i := range spec.FailureDomains {
		domain, path := &spec.FailureDomains[i], path.Child("failureDomains").Index(i)
		errs = append(errs, validateDomain(domain, path)...)
		key, value := domain.Topology()
		if other, found := taken[key+"="+value]; found {
			errs = append(errs, field.Invalid(path.Child("topologyValue"), value, fmt.Sprintf(
				"failure domain %s has the hosts with %s=%s already: give this one a label or value of its own", other, key, value)))
		}
		taken[key+"="+value] = domain.Name
	}
	for i, intent := range spec.Distribution.FailureDomains {
		errs = append(errs, validateDomainName(intent.Name, path.Child("distribution", "failureDomains").Index(i).Child("name"))...)
	}
	return errs
}

func validateDomain(domain *infrav1.HarvesterFailureDomain, path *field.Path) field.ErrorList {
	errs := validateDomainName(domain.Name, path.Child("name"))
	if domain.TopologyKey != "" {
		errs = append(errs, affinity.ValidateKey(domain.TopologyKey, path.Child("topologyKey"))...)
	}
	if len(validation.IsValidLabelValue(domain.TopologyValue)) > 0 {
		errs = append(errs, field.Invalid(path.Child("topologyValue"), domain.TopologyValue, notALabel+"correct it"))
	}
	for i, network := range domain.Networks {
		errs = append(errs, naming.ValidateReference(network, path.Child("networks").Index(i))...)
	}
	if domain.VMNetworkConfig != nil {
		errs = append(errs, validateVMNetworkWithoutPool(*domain.VMNetworkConfig, path.Child("vmNetworkConfig"))...)
	}
	return errs
}

// topologyKeys are the labels of hosts over whose values Harvester's scheduler is
// asked to keep logical failure domains apart: those by which the cluster has
// failure domains, and the usual ones.
func topologyKeys(spec infrav1.HarvesterClusterSpec) []string {
	keys := []string{corev1.LabelHostname, corev1.LabelTopologyRegion, spec.DiscoveryKey()}
	for i := range spec.FailureDomains {
		key, _ := spec.FailureDomains[i].Topology()
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// notALabel says what values of labels are.
const notALabel = "is no value of a label, which has at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last: "

// validateDomainName wants a name that labels can have: Nodes carry it in one,
// and it is the value of the hosts' label unless told otherwise.
func validateDomainName(name string, path *field.Path) field.ErrorList {
	if name == "" || len(validation.IsValidLabelValue(name)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, notALabel+"rename the domain")}
}

// redefinedInUse returns an error for each failure domain that is removed, or
// given other hosts, and has machines: they would be in no domain, or in one that
// they are not in.
func (w *HarvesterCluster) redefinedInUse(ctx context.Context, before, after *infrav1.HarvesterCluster) (field.ErrorList, error) {
	redefined := redefinedDomains(before.Spec.FailureDomains, after.Spec.FailureDomains)
	otherKey := len(before.Spec.FailureDomains)+len(after.Spec.FailureDomains) == 0 && before.Spec.DiscoveryKey() != after.Spec.DiscoveryKey()
	name := rules.ClusterName(after)
	if len(redefined) == 0 && !otherKey || name == "" || !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: after.Namespace, Name: name}
	machines, err := rules.MachinesByDomain(ctx, w.Reader, &infrav1.HarvesterMachineList{}, key, domainsOf)
	if err != nil {
		return nil, err
	}
	path := field.NewPath("spec")
	if otherKey && len(machines) > 0 {
		return field.ErrorList{field.Forbidden(path.Child("failureDomainTopologyKey"), fmt.Sprintf(
			"cannot be changed, because machines are in %s, which were found by %s: list the failure domains in spec.failureDomains instead",
			rules.Abbreviated(slices.Sorted(maps.Keys(machines))), before.Spec.DiscoveryKey()))}, nil
	}
	var errs field.ErrorList
	for _, domain := range redefined {
		if names := machines[domain]; len(names) > 0 {
			errs = append(errs, field.Forbidden(path.Child("failureDomains"), fmt.Sprintf(
				"%s cannot be removed or given other hosts: %s in it; set it to Cordoned in spec.distribution, replace the machines, and change it then",
				domain, rules.InUseBy("HarvesterMachine", names))))
		}
	}
	return errs, nil
}

// redefinedDomains returns the names of the domains that are in before, and in
// after are not or have other hosts, sorted.
func redefinedDomains(before, after []infrav1.HarvesterFailureDomain) []string {
	var names []string
	for i := range before {
		key, value := before[i].Topology()
		if !slices.ContainsFunc(after, func(domain infrav1.HarvesterFailureDomain) bool {
			otherKey, otherValue := domain.Topology()
			return domain.Name == before[i].Name && otherKey == key && otherValue == value
		}) {
			names = append(names, before[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// domainsOf returns where a machine is and where it is to be.
func domainsOf(object client.Object) []string {
	machine, ok := object.(*infrav1.HarvesterMachine)
	if !ok {
		return nil
	}
	return []string{machine.Status.FailureDomain, machine.Spec.FailureDomain}
}

// warnDomains has what is accepted of failure domains, and may surprise.
func warnDomains(spec infrav1.HarvesterClusterSpec, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	if len(spec.FailureDomains) == 0 {
		return nil
	}
	if spec.FailureDomainTopologyKey != "" {
		warnings = append(warnings, rules.Warning(path.Child("failureDomainTopologyKey"), "is of no effect while spec.failureDomains lists domains; remove it"))
	}
	listed := map[string]bool{}
	for i := range spec.FailureDomains {
		domain := &spec.FailureDomains[i]
		listed[domain.Name] = true
		path := path.Child("failureDomains").Index(i)
		if domain.VMNetworkConfig != nil {
			warnings = append(warnings, warnVMNetwork(*domain.VMNetworkConfig, path.Child("vmNetworkConfig"))...)
		}
		if key, _ := domain.Topology(); strings.HasSuffix(key, "kubernetes.io/hostname") {
			warnings = append(warnings, rules.Warning(path.Child("topologyKey"),
				"makes each host a domain, so that machines cannot be migrated and are shut down when their host is upgraded; use a label that several hosts share"))
		}
	}
	for i, intent := range spec.Distribution.FailureDomains {
		if !listed[intent.Name] {
			warnings = append(warnings, rules.Warning(path.Child("distribution", "failureDomains").Index(i).Child("name"),
				"%s is not among spec.failureDomains, so its state counts for machines that name it only; correct the name or add it there", intent.Name))
		}
	}
	return warnings
}
