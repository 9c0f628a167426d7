// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline-io/faultline/providers/metal3/validation"
)

const (
	// hostDomain on a BareMetalHost is the label with its failure domain.
	hostDomain = Group + "/failure-domain"
	// hostOf on a Metal3Machine is the annotation with its host.
	hostOf = "metal3.io/BareMetalHost"
	// hostDetached on a BareMetalHost is the annotation of a host that the bare-metal operator does not manage.
	hostDetached = "baremetalhost.metal3.io/detached"
	// copiedPrefixes on a Metal3Cluster is the annotation with the prefixes of labels that are copied from hosts to Nodes.
	copiedPrefixes = "metal3.io/metal3-label-sync-prefixes"
)

func metal3() Provider {
	return Provider{
		Name: "metal3", Lease: "controller-leader-election-capm3", unelected: true, served: []string{"v1beta2", "v1beta1"},
		Kinds: []string{
			"Metal3Cluster", "Metal3ClusterTemplate", "Metal3Data", "Metal3DataClaim", "Metal3DataTemplate", "Metal3Machine", "Metal3MachineTemplate",
			"Metal3Remediation", "Metal3RemediationTemplate",
		},
		Related: []schema.GroupKind{{Group: "metal3.io", Kind: "BareMetalHost"}},
		first:   version{1, 1, 0}, last: version{1, 14, 0},
		rules: []func(*examination){
			refused(validation.Written), variables, failureDomainLabels, machineFailureDomains, prefixes, sharedHosts, hostsOfMachines, hosts, remediations, addressPools,
			metal3Changes,
		},
	}
}

// variables checks arguments of the upstream manager that are also variables of the new components: clusterctl and kubectl do not
// carry over their values.
func variables(e *examination) {
	e.eachManager(func(deployment *unstructured.Unstructured, args []string) {
		for _, name := range []string{"enable-bmh-name-based-preallocation", "enableBMHNameBasedPreallocation"} {
			if value, given := flagOf(args, name); given && value == "true" {
				e.about(deployment, Check, "Preallocation", "addresses are allocated by the names of hosts: set ENABLE_BMH_NAME_BASED_PREALLOCATION=true for the new components too, or hosts change their addresses")
			}
		}
		if value, _ := flagOf(args, "insecure-diagnostics"); value == "true" {
			e.about(deployment, Check, "Diagnostics", "--insecure-diagnostics=true: set CAPM3_INSECURE_DIAGNOSTICS=true for the new components too, or clients without credentials cannot read its metrics")
		}
		if value, given := flagOf(args, "diagnostics-address"); given && value != ":8443" {
			e.about(deployment, Check, "Diagnostics", fmt.Sprintf("--diagnostics-address=%s: set CAPM3_DIAGNOSTICS_ADDRESS=%s for the new components too", value, value))
		}
		if name := fastTrack(deployment); name != "" {
			e.about(deployment, Check, "FastTrack", fmt.Sprintf("ConfigMap %s is not read: if CAPM3_FAST_TRACK is true in it, set the variable of that name for the new components, or hosts are powered off between two machines", name))
		}
	})
}

// fastTrack returns the ConfigMap from which the upstream manager reads its environment.
func fastTrack(deployment *unstructured.Unstructured) string {
	sources, _, _ := unstructured.NestedSlice(container(deployment).Object, "envFrom")
	for _, source := range sources {
		fields, _ := source.(map[string]any)
		if name, _, _ := unstructured.NestedString(fields, "configMapRef", "name"); strings.Contains(name, "fasttrack") {
			return name
		}
	}
	return ""
}

// failureDomainLabels checks failure domains, which are a preference in upstream and a requirement in this provider.
func failureDomainLabels(e *examination) {
	e.each(Check, "FailureDomains", func(cluster *unstructured.Unstructured) string {
		names := domainsOf(cluster)
		if len(names) == 0 {
			return ""
		}
		return fmt.Sprintf("its machines only use hosts with the labels of failure domains %s, and wait if there are none: label the hosts first, or set failureDomainPolicy: Preferred in new templates",
			strings.Join(names, ", "))
	}, "Metal3Cluster")
	for i := range e.Objects["Metal3Cluster"] {
		cluster := &e.Objects["Metal3Cluster"][i]
		for j, name := range domainsOf(cluster) {
			if e.labelled(cluster.GetNamespace(), name) == 0 {
				e.aboutField(cluster, fmt.Sprintf("spec.failureDomains[%d].name", j), Stops, "FailureDomains", fmt.Sprintf(
					"no BareMetalHost of the namespace has the label %s=%s: machines for this failure domain wait, and a cluster without a host in a domain for control planes is not provisioned; label hosts, which works with upstream too",
					hostDomain, name))
			}
		}
	}
}

// labelled counts the hosts of a failure domain.
func (e *examination) labelled(namespace, domain string) int {
	n := 0
	for i := range e.Objects["BareMetalHost"] {
		if host := &e.Objects["BareMetalHost"][i]; host.GetNamespace() == namespace && host.GetLabels()[hostDomain] == domain {
			n++
		}
	}
	return n
}

// domainsOf returns the names of a cluster's failure domains: a list in v1beta2, a map in v1beta1.
func domainsOf(cluster *unstructured.Unstructured) []string {
	value, _, _ := unstructured.NestedFieldNoCopy(cluster.Object, "spec", "failureDomains")
	var names []string
	switch domains := value.(type) {
	case []any:
		for _, domain := range domains {
			if fields, ok := domain.(map[string]any); ok {
				names = append(names, fmt.Sprint(fields["name"]))
			}
		}
	case map[string]any:
		for name := range domains {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	return names
}

// machineFailureDomains finds Machines whose failure domain does not belong to their cluster.
func machineFailureDomains(e *examination) {
	for i := range e.Machines {
		machine := &e.Machines[i]
		domain := text(machine, "spec", "failureDomain")
		infra := e.cluster("Metal3Cluster", machine)
		if domain == "" || infra == nil || text(machine, "spec", "infrastructureRef", "kind") != "Metal3Machine" || slices.Contains(domainsOf(infra), domain) {
			continue
		}
		if n := e.labelled(machine.GetNamespace(), domain); n > 0 {
			e.aboutField(machine, "spec.failureDomain", Changes, "Machines", fmt.Sprintf(
				"Metal3Cluster %s does not list failure domain %s: it is used all the same, because %d hosts have its label, and the condition's reason is FailureDomainUnlisted", infra.GetName(), domain, n))
			continue
		}
		e.aboutField(machine, "spec.failureDomain", Check, "Machines", fmt.Sprintf(
			"Metal3Cluster %s does not list failure domain %s, and no host has its label: the machine stays, but its replacement would wait; list the domain and label hosts, or remove the failure domain",
			infra.GetName(), domain))
	}
}

// cluster returns the infrastructure cluster of a Machine.
func (e *examination) cluster(kind string, machine *unstructured.Unstructured) *unstructured.Unstructured {
	for i := range e.Objects[kind] {
		infra := &e.Objects[kind][i]
		if infra.GetNamespace() == machine.GetNamespace() && ownerOf(infra, "Cluster") == text(machine, "spec", "clusterName") {
			return infra
		}
	}
	return nil
}

// prefixes finds labels of hosts that upstream copies to Nodes and this provider must not copy.
func prefixes(e *examination) {
	e.each(Check, "Labels", func(cluster *unstructured.Unstructured) string {
		var reserved []string
		for prefix := range strings.SplitSeq(cluster.GetAnnotations()[copiedPrefixes], ",") {
			if prefix = strings.TrimSpace(prefix); reservedPrefix(prefix) {
				reserved = append(reserved, prefix)
			}
		}
		if len(reserved) == 0 {
			return ""
		}
		return fmt.Sprintf("its annotation %s has %s, which Kubernetes reserves: labels of hosts with it are not copied to Nodes any more; use another prefix for the labels of hosts",
			copiedPrefixes, strings.Join(reserved, ", "))
	}, "Metal3Cluster")
}

func reservedPrefix(prefix string) bool {
	if slices.Contains([]string{"topology.kubernetes.io", "node.kubernetes.io", "kubelet.kubernetes.io"}, prefix) {
		return false
	}
	return slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(domain string) bool {
		return prefix == domain || strings.HasSuffix(prefix, "."+domain)
	})
}

// sharedHosts finds machines that several hosts name as their consumer.
func sharedHosts(e *examination) {
	of := map[string][]string{}
	for i := range e.Objects["BareMetalHost"] {
		host := &e.Objects["BareMetalHost"][i]
		if consumer := consumerOf(host); consumer != "" {
			of[host.GetNamespace()+"/"+consumer] = append(of[host.GetNamespace()+"/"+consumer], host.GetName())
		}
	}
	e.each(Check, "Hosts", func(machine *unstructured.Unstructured) string {
		if hosts := of[machine.GetNamespace()+"/"+machine.GetName()]; len(hosts) > 1 {
			return fmt.Sprintf("BareMetalHosts %s all name it in spec.consumerRef: its condition has the reason SeveralBareMetalHosts until only one does", strings.Join(hosts, ", "))
		}
		return ""
	}, "Metal3Machine")
}

// consumerOf returns the Metal3Machine that uses a host.
func consumerOf(host *unstructured.Unstructured) string {
	if text(host, "spec", "consumerRef", "kind") != "Metal3Machine" {
		return ""
	}
	return text(host, "spec", "consumerRef", "name")
}

// hostsOfMachines finds machines whose host does not refer back to them: upstream only checks the annotation of the machine.
func hostsOfMachines(e *examination) {
	e.each(Stops, "Hosts", func(machine *unstructured.Unstructured) string {
		value := machine.GetAnnotations()[hostOf]
		name := value[strings.LastIndexByte(value, '/')+1:]
		if name == "" {
			return ""
		}
		for i := range e.Objects["BareMetalHost"] {
			host := &e.Objects["BareMetalHost"][i]
			if host.GetNamespace() == machine.GetNamespace() && host.GetName() == name {
				if consumerOf(host) == machine.GetName() {
					return ""
				}
				return fmt.Sprintf("its annotation %s names BareMetalHost %s, which does not name it in spec.consumerRef: it would get another host; set spec.consumerRef, or correct the annotation", hostOf, name)
			}
		}
		return fmt.Sprintf("its annotation %s names BareMetalHost %s, which does not exist: restore it with spec.consumerRef, or delete the Machine", hostOf, name)
	}, "Metal3Machine")
}

// hosts reports how BareMetalHosts change.
func hosts(e *examination) {
	var zones, owned int
	for i := range e.Objects["BareMetalHost"] {
		host := &e.Objects["BareMetalHost"][i]
		consumer := consumerOf(host)
		if _, detached := host.GetAnnotations()[hostDetached]; detached && consumer == "" {
			e.about(host, Changes, "Hosts", fmt.Sprintf("it has the annotation %s: no machine uses it while it has the annotation; upstream may use it", hostDetached))
		}
		if consumer != "" && host.GetLabels()[hostDomain] != "" {
			zones++
		}
		if slices.ContainsFunc(host.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.Kind == "Metal3Machine" }) {
			owned++
		}
	}
	if zones > 0 {
		e.ofAll("BareMetalHost", Check, "Labels", fmt.Sprintf(
			"%d hosts in use have the label %s: their Nodes get it as topology.kubernetes.io/zone, unless that is already set, and Pods that are spread over zones are placed by it after that", zones, hostDomain))
	}
	if owned > 0 {
		e.ofAll("BareMetalHost", Changes, "Owners", fmt.Sprintf(
			"the owner reference to the Metal3Machine is removed from %d hosts, so that no host is deleted with its machine, and they get the annotation clusterctl.cluster.x-k8s.io/block-move", owned))
	}
}

// remediations finds hosts that are being rebooted.
func remediations(e *examination) {
	e.each(Check, "Remediation", func(remediation *unstructured.Unstructured) string {
		if phase := text(remediation, "status", "phase"); phase == "Running" || phase == "Waiting" {
			return fmt.Sprintf("a host is being remediated (%s): wait until upstream has finished", phase)
		}
		return ""
	}, "Metal3Remediation")
}

// addressPools finds values that templates take from pools of other kinds.
func addressPools(e *examination) {
	for i := range e.Objects["Metal3DataTemplate"] {
		template := &e.Objects["Metal3DataTemplate"][i]
		meta := as[map[string][]struct{ Name, Kind, APIGroup string }](template, "spec", "metaData")
		for _, list := range []string{"ipAddressesFromPool", "prefixesFromPool", "gatewaysFromPool", "dnsServersFromPool"} {
			for j, from := range meta[list] {
				if foreign := from.APIGroup != "" && from.APIGroup != "ipam.metal3.io" || from.Kind != "" && from.Kind != "IPPool"; foreign {
					e.aboutField(template, fmt.Sprintf("spec.metaData.%s[%d]", list, j), Check, "Pools", fmt.Sprintf(
						"new machines get their addresses from %s %s of %s, while upstream uses metal3's IPPool of that name: name the intended pool", from.Kind, from.Name, from.APIGroup))
				}
			}
		}
		for _, list := range []string{"dnsServersFromPool", "dnsServersFromIPPool"} {
			if len(meta[list]) > 0 {
				e.aboutField(template, "spec.metaData."+list, Changes, "Pools", "is rendered for new machines, while upstream omits it")
			}
		}
	}
}

// metal3Changes reports differences that apply to all objects of a kind.
func metal3Changes(e *examination) {
	e.ofAll("Metal3MachineTemplate", Changes, "InPlace", "only spec.template.spec.automatedCleaningMode can be changed: to change more, create another one and refer to it")
	e.ofAll("Metal3Machine", Changes, "Hosts", "a new one gets the first matching host by name, while upstream chooses at random: set hostSelectionOrder: Random in new templates to do the same")
	e.ofAll("Metal3Machine", Changes, "Labels", "the Secret of its host's BMC has the label cluster.x-k8s.io/cluster-name only while the cluster is paused")
}
