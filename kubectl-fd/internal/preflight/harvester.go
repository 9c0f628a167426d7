// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	harvesterrules "github.com/faultline-io/faultline/providers/harvester/validation"
)

func harvester() Provider {
	return Provider{
		Name: "harvester", Lease: "1e1658d6.cluster.x-k8s.io", served: []string{"v1beta1", "v1alpha1"},
		Kinds: []string{"HarvesterCluster", "HarvesterClusterTemplate", "HarvesterMachine", "HarvesterMachineTemplate"},
		first: version{0, 1, 0}, last: version{0, 10, 0},
		rules: []func(*examination){
			refused(harvesterrules.Written), endpoints, sameNames, hostDomains, cloudProviders, rancherLabels, poolNames, virtualMachines, dhcp, harvesterChanges,
		},
	}
}

// endpoints checks load balancers, which the new manager finds by the address that their cluster has published.
func endpoints(e *examination) {
	for i := range e.Objects["HarvesterCluster"] {
		cluster := &e.Objects["HarvesterCluster"][i]
		if text(cluster, "spec", "loadBalancerConfig", "ipamType") == "" {
			continue
		}
		host, name := text(cluster, "spec", "controlPlaneEndpoint", "host"), text(cluster, "spec", "targetNamespace")+"/"+formerName(cluster)
		if host == "" || host == "0.0.0.0" {
			e.aboutField(cluster, "spec.controlPlaneEndpoint", Check, "LoadBalancer", fmt.Sprintf(
				"the control plane has no address yet: wait until upstream has finished, or LoadBalancer %s on Harvester is left behind and another one is created", name))
			continue
		}
		e.aboutField(cluster, "spec.controlPlaneEndpoint", Changes, "LoadBalancer", fmt.Sprintf(
			"LoadBalancer %s on Harvester is taken over when its status.address is %s, and its address cannot change after that", name, host))
	}
}

// formerName returns the name of the load balancer that upstream creates for a cluster.
func formerName(cluster *unstructured.Unstructured) string {
	name := strings.ToLower(cluster.GetNamespace() + "-" + cluster.GetName() + "-lb")
	name = strings.Trim(regexp.MustCompile("[^a-z0-9-]").ReplaceAllString(name, "-"), "-")
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "a-" + name
	}
	return name[:min(len(name), validation.DNS1123LabelMaxLength)]
}

// sameNames finds clusters whose virtual machines, or load balancers, have the same names in upstream.
func sameNames(e *examination) {
	clusters := e.Objects["HarvesterCluster"]
	for i := range clusters {
		for j := range clusters {
			a, b := &clusters[i], &clusters[j]
			if i == j || text(a, "spec", "server") != text(b, "spec", "server") || text(a, "spec", "targetNamespace") != text(b, "spec", "targetNamespace") {
				continue
			}
			if ownerOf(a, "Cluster") == ownerOf(b, "Cluster") || formerName(a) == formerName(b) {
				e.about(a, Check, "Names", fmt.Sprintf(
					"HarvesterCluster %s/%s has its machines in the same namespace of the same Harvester, under the same names: check that each provider ID is that of the cluster's own virtual machine, because machines are taken over by their provider IDs", b.GetNamespace(), b.GetName()))
			}
		}
	}
}

// hostDomains finds failure domains that are single hosts, which upstream publishes if a host has no zone.
func hostDomains(e *examination) {
	e.each(Check, "FailureDomains", func(cluster *unstructured.Unstructured) string {
		published := as[[]struct {
			Name       string
			Attributes map[string]string
		}](cluster, "status", "failureDomains")
		var hosts []string
		for _, domain := range published {
			if domain.Attributes["topologyKey"] == "kubernetes.io/hostname" {
				hosts = append(hosts, domain.Name)
			}
		}
		if len(hosts) == 0 {
			return ""
		}
		return fmt.Sprintf("its failure domains %s are single hosts until a host has the label topology.kubernetes.io/zone: label all hosts at once, or list spec.failureDomains afterwards",
			strings.Join(hosts, ", "))
	}, "HarvesterCluster")
}

// cloudProviders checks clusters whose cloud provider gets an account created for it.
func cloudProviders(e *examination) {
	e.each(Check, "Account", func(cluster *unstructured.Unstructured) string {
		if text(cluster, "spec", "updateCloudProviderConfig", "manifestsConfigMapName") == "" {
			return ""
		}
		return "spec.updateCloudProviderConfig: the account on Harvester must be allowed to create serviceaccounts and clusterrolebindings, and to bind ClusterRole harvesterhci.io:cloudprovider"
	}, "HarvesterCluster")
}

// rancherLabels finds state that upstream has copied to Rancher.
func rancherLabels(e *examination) {
	e.each(Changes, "Rancher", func(cluster *unstructured.Unstructured) string {
		var gone []string
		for _, condition := range as[[]struct{ Type string }](cluster, "status", "conditions") {
			if slices.Contains([]string{"FleetIntegrationReady", "InitMachineCreated"}, condition.Type) {
				gone = append(gone, condition.Type)
			}
		}
		if len(gone) == 0 {
			return ""
		}
		return fmt.Sprintf("the conditions %s will not be set any more, and labels will not be copied to Rancher", strings.Join(gone, ", "))
	}, "HarvesterCluster")
}

// poolNames finds pool names with a namespace. IPPools are cluster-scoped.
func poolNames(e *examination) {
	look := func(object *unstructured.Unstructured, spec ...string) {
		at := strings.Join(spec, ".")
		for _, name := range append([]string{text(object, append(spec, "ipPoolRef")...)}, as[[]string](object, append(spec, "ipPoolRefs")...)...) {
			if strings.Contains(name, "/") {
				e.aboutField(object, at, Check, "Pools", fmt.Sprintf("%s is not the name of an IPPool, which has no namespace: machines that need an address from it will wait; set only the pool's name", name))
			}
		}
	}
	for _, at := range []struct {
		kind string
		spec []string
	}{
		{"HarvesterCluster", []string{"spec", "loadBalancerConfig"}}, {"HarvesterCluster", []string{"spec", "vmNetworkConfig"}},
		{"HarvesterMachine", []string{"spec", "vmNetworkConfig"}}, {"HarvesterMachineTemplate", []string{"spec", "template", "spec", "vmNetworkConfig"}},
	} {
		for i := range e.Objects[at.kind] {
			look(&e.Objects[at.kind][i], at.spec...)
		}
	}
}

// virtualMachines finds machines that cannot be taken over: they are identified by the provider ID, because a name is not
// reliable.
func virtualMachines(e *examination) {
	for i := range e.Objects["HarvesterMachine"] {
		machine := &e.Objects["HarvesterMachine"][i]
		if text(machine, "spec", "providerID") != "" {
			continue
		}
		ready, _, _ := unstructured.NestedBool(machine.Object, "status", "ready")
		made := ready || slices.ContainsFunc(as[[]struct{ Type, Status string }](machine, "status", "conditions"), func(c struct{ Type, Status string }) bool {
			return c.Type == "MachineCreated" && c.Status == "True"
		})
		verdict, what := Check, "it has no provider ID yet: wait until upstream has finished, or a VirtualMachine that upstream created blocks it"
		if made {
			verdict, what = Stops, "it has a VirtualMachine but no provider ID. The takeover needs the provider ID, so the machine would wait with VirtualMachineNotOurs: let upstream set the provider ID, or delete the Machine"
		}
		e.aboutField(machine, "spec.providerID", verdict, "VirtualMachines", what)
	}
}

// dhcp finds machines whose network is configured by upstream's script.
func dhcp(e *examination) {
	static := func(object *unstructured.Unstructured, spec ...string) bool {
		for _, name := range []string{"networkConfig", "vmNetworkConfig"} {
			if fields, _, _ := unstructured.NestedMap(object.Object, append(slices.Clone(spec), name)...); len(fields) > 0 {
				return true
			}
		}
		return false
	}
	for i := range e.Objects["HarvesterMachineTemplate"] {
		template := &e.Objects["HarvesterMachineTemplate"][i]
		clusters := slices.DeleteFunc(slices.Clone(e.Objects["HarvesterCluster"]), func(c unstructured.Unstructured) bool { return c.GetNamespace() != template.GetNamespace() })
		pooled := len(clusters) > 0 && !slices.ContainsFunc(clusters, func(c unstructured.Unstructured) bool { return !static(&c, "spec") })
		if networks := as[[]string](template, "spec", "template", "spec", "networks"); len(networks) == 1 && !pooled && !static(template, "spec", "template", "spec") {
			e.aboutField(template, "spec.template.spec.networks", Check, "Network",
				"machines get their address from DHCP: the image must request it itself, because upstream's script that runs dhclient, which images with wicked need, is not added")
		}
	}
}

// harvesterChanges reports differences that apply to all objects of a kind.
func harvesterChanges(e *examination) {
	e.ofAll("HarvesterCluster", Check, "Account", "the account in spec.identitySecret must have the permissions that docs/harvester.md lists, including watch; upstream does not watch")
	e.ofAll("HarvesterCluster", Changes, "InPlace", "spec.targetNamespace cannot be changed; spec.loadBalancerConfig, except listeners and description, cannot be changed once an endpoint is set")
	e.ofAll("HarvesterMachine", Changes, "Addresses", "addresses of pools are released after the virtual machine is deleted, not before")
	e.ofAll("HarvesterMachineTemplate", Changes, "InPlace", "cannot be changed: create another one and refer to it")
	e.ofAll("HarvesterMachineTemplate", Changes, "Bootstrap", "bootstrap data of new machines stay unchanged instead of being merged, with a second part that installs qemu-guest-agent; interfaces are named eth0, eth1 and so on")
}
