// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachines,verbs=get;list;watch

// validateDomains validates the failure domains and spec.distribution.
func validateDomains(spec infrav1.HarvesterClusterSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.FailureDomainTopologyKey != "" {
		errs = append(errs, validateLabelKey(spec.FailureDomainTopologyKey, path.Child("failureDomainTopologyKey"))...)
	}
	taken := map[string]string{}
	for i := range spec.FailureDomains {
		domain, path := &spec.FailureDomains[i], path.Child("failureDomains").Index(i)
		errs = append(errs, validateDomain(domain, path)...)
		key, value := domain.Topology()
		if other, found := taken[key+"="+value]; found {
			errs = append(errs, field.Invalid(path.Child("topologyValue"), value, fmt.Sprintf(
				"must not select the hosts of failure domain %s, which are those with %s=%s: use another label or value", other, key, value)))
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
		errs = append(errs, validateLabelKey(domain.TopologyKey, path.Child("topologyKey"))...)
	}
	if len(validation.IsValidLabelValue(domain.TopologyValue)) > 0 {
		errs = append(errs, field.Invalid(path.Child("topologyValue"), domain.TopologyValue, invalidLabelValue))
	}
	for i, network := range domain.Networks {
		errs = append(errs, validateReference(network, path.Child("networks").Index(i))...)
	}
	if domain.VMNetworkConfig != nil {
		errs = append(errs, validateVMNetworkWithoutPool(*domain.VMNetworkConfig, path.Child("vmNetworkConfig"))...)
	}
	return errs
}

// topologyKeys returns the host labels that Harvester's scheduler can use to keep logical failure domains apart: the labels of the
// cluster's failure domains, and the hostname.
func topologyKeys(spec infrav1.HarvesterClusterSpec) []string {
	keys := []string{corev1.LabelHostname, spec.DiscoveryKey()}
	for i := range spec.FailureDomains {
		key, _ := spec.FailureDomains[i].Topology()
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// invalidLabelValue describes the syntax of label values.
const invalidLabelValue = "must be a valid label value: at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"

// validateDomainName requires a valid label value: a label of Nodes holds the name, and by default it is the value of the hosts' label.
func validateDomainName(name string, path *field.Path) field.ErrorList {
	if name == "" || len(validation.IsValidLabelValue(name)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, invalidLabelValue)}
}

// redefinedInUse returns an error for each failure domain with machines that is removed or gets other hosts. Its machines would be in no
// domain, or in one that does not contain their hosts.
func (w harvesterCluster) redefinedInUse(ctx context.Context, before, after *infrav1.HarvesterCluster) (field.ErrorList, error) {
	name := rules.ClusterName(after)
	if !redefines(before.Spec, after.Spec) || name == "" || !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: after.Namespace, Name: name}
	machines, err := rules.MachinesByDomain(ctx, w.Reader, &infrav1.HarvesterMachineList{}, key, domainsOf)
	if err != nil || len(machines) == 0 {
		return nil, err
	}
	path := field.NewPath("spec")
	if len(before.Spec.FailureDomains)+len(after.Spec.FailureDomains) == 0 {
		return field.ErrorList{field.Forbidden(path.Child("failureDomainTopologyKey"), fmt.Sprintf(
			"must not be changed while machines are in %s, discovered by the label %s: list the failure domains in spec.failureDomains instead",
			rules.Abbreviated(slices.Sorted(maps.Keys(machines))), before.Spec.DiscoveryKey()))}, nil
	}
	var errs field.ErrorList
	for _, domain := range redefinedDomains(before, after, slices.Sorted(maps.Keys(machines))) {
		was, _ := publishedHosts(before, domain)
		errs = append(errs, field.Forbidden(path.Child("failureDomains"), fmt.Sprintf(
			"must not remove failure domain %s or change its hosts: %s in it; keep its hosts with %s=%s, or set it to Cordoned in spec.distribution, "+
				"replace the machines, and change it then", domain, rules.InUseBy("HarvesterMachine", machines[domain]), was.key, was.value)))
	}
	return errs, nil
}

// hosts selects hosts by the value of a label.
type hosts struct{ key, value string }

// listedHosts returns the hosts of each failure domain that the cluster lists, by name.
func listedHosts(spec infrav1.HarvesterClusterSpec) map[string]hosts {
	listed := map[string]hosts{}
	for i := range spec.FailureDomains {
		key, value := spec.FailureDomains[i].Topology()
		listed[spec.FailureDomains[i].Name] = hosts{key, value}
	}
	return listed
}

// hostsOf returns the hosts of a failure domain, if the cluster has one of that name. A cluster that lists none has every value of the
// discovery label.
func hostsOf(spec infrav1.HarvesterClusterSpec, domain string) (of hosts, exists bool) {
	if len(spec.FailureDomains) == 0 {
		return hosts{spec.DiscoveryKey(), domain}, true
	}
	of, exists = listedHosts(spec)[domain]
	return of, exists
}

// publishedHosts returns the hosts of a failure domain in its current state. If the domains are discovered and already published, the
// published ones count: these can be single hosts, and a machine can be restricted to hosts that are not a domain.
func publishedHosts(cluster *infrav1.HarvesterCluster, domain string) (of hosts, exists bool) {
	of, exists = hostsOf(cluster.Spec, domain)
	published := cluster.Status.FailureDomains
	if len(cluster.Spec.FailureDomains) > 0 || len(published) == 0 {
		return of, exists
	}
	at := slices.IndexFunc(published, func(p clusterv1.FailureDomain) bool { return p.Name == domain })
	if at < 0 {
		return hosts{}, false
	}
	attributes := published[at].Attributes
	if key := attributes[infrav1.TopologyKeyAttribute]; key != "" {
		of = hosts{key, cmp.Or(attributes[infrav1.TopologyValueAttribute], domain)}
	}
	return of, true
}

// redefines reports whether a change may remove a failure domain or give it other hosts.
func redefines(before, after infrav1.HarvesterClusterSpec) bool {
	was, now := listedHosts(before), listedHosts(after)
	if len(was) == 0 {
		return len(now) > 0 || before.DiscoveryKey() != after.DiscoveryKey()
	}
	for domain, of := range was {
		if now[domain] != of {
			return true
		}
	}
	return false
}

// redefinedDomains returns those of the given domains that exist before the change, and afterwards do not exist or have other hosts.
func redefinedDomains(before, after *infrav1.HarvesterCluster, domains []string) []string {
	var redefined []string
	for _, domain := range domains {
		was, is := publishedHosts(before, domain)
		if now, remains := hostsOf(after.Spec, domain); is && (!remains || now != was) {
			redefined = append(redefined, domain)
		}
	}
	return redefined
}

// domainsOf returns a machine's actual and requested failure domain.
func domainsOf(object client.Object) []string {
	machine, ok := object.(*infrav1.HarvesterMachine)
	if !ok {
		return nil
	}
	return []string{machine.Status.FailureDomain, machine.Spec.FailureDomain}
}

// warnDomains returns warnings about valid but surprising failure domains.
func warnDomains(spec infrav1.HarvesterClusterSpec, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	if len(spec.FailureDomains) == 0 {
		return nil
	}
	if spec.FailureDomainTopologyKey != "" {
		warnings = append(warnings, rules.Warning(path.Child("failureDomainTopologyKey"), "has no effect while spec.failureDomains lists domains; remove it"))
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
				"makes each host a failure domain: its machines cannot migrate and are shut down when the host is upgraded; use a label that several hosts share"))
		}
	}
	for i, intent := range spec.Distribution.FailureDomains {
		if !listed[intent.Name] {
			warnings = append(warnings, rules.Warning(path.Child("distribution", "failureDomains").Index(i).Child("name"),
				"%s is not in spec.failureDomains, so its state applies only to machines that name it; correct the name, or add it there", intent.Name))
		}
	}
	return warnings
}
