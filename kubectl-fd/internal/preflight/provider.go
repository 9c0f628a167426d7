// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline-io/faultline/providers/vsphere/validation"
)

// Group is the API group of all infrastructure providers' kinds, and LoadBalancerGroup that of the provider of addresses on
// Harvester.
const (
	Group             = "infrastructure.cluster.x-k8s.io"
	LoadBalancerGroup = "loadbalancer.harvesterhci.io"
)

// Provider describes one of this project's providers, and the upstream one from which it takes over.
type Provider struct {
	// Name is the name that clusterctl uses.
	Name string
	// Group is the API group of its kinds, and Kinds are those that are taken over.
	Group string
	Kinds []string
	// Related lists other kinds that are read.
	Related []schema.GroupKind
	// Lease is the name of the lease that both managers use, and LeaseNamespace its namespace, "" for the one in which they are
	// installed.
	Lease, LeaseNamespace string
	// unelected is true if the upstream manager only uses leader election when a flag enables it.
	unelected bool
	// Standalone is true if it is not a Cluster API provider.
	Standalone bool

	// served lists the versions of the kinds that this provider serves, the stored one first.
	served []string
	// first and last are the range of upstream's release series in metadata.yaml, as major and minor version.
	first, last version
	// flags are the flags of the upstream manager that this one accepts, and gates the feature gates.
	flags, gates []string
	rules        []func(*examination)
}

// label returns the value of the label cluster.x-k8s.io/provider on the provider's objects.
func (p Provider) label() string { return "infrastructure-" + p.Name }

// Providers returns all providers.
func Providers() []Provider {
	all := []Provider{vsphere(), metal3(), harvester(), loadBalancer()}
	for i := range all {
		if all[i].Group == "" {
			all[i].Group = Group
		}
	}
	return all
}

// Find returns providers by name, or all if no names are given. It returns an error for an unknown name.
func Find(names []string) ([]Provider, error) {
	all := Providers()
	if len(names) == 0 {
		return all, nil
	}
	var found []Provider
	for _, name := range names {
		i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown provider %q: choose one of %s", name, strings.Join(Names(), ", "))
		}
		found = append(found, all[i])
	}
	return found, nil
}

// Names returns the names of all providers.
func Names() []string {
	var names []string
	for _, p := range Providers() {
		names = append(names, p.Name)
	}
	return names
}

// common returns the flags that the managers of all providers share.
func common() []string {
	return strings.Fields(`leader-elect leader-elect-lease-duration leader-elect-renew-deadline leader-elect-retry-period namespace watch-filter
		profiler-address sync-period kube-api-qps kube-api-burst webhook-port webhook-cert-dir webhook-cert-name webhook-key-name health-addr
		diagnostics-address insecure-diagnostics tls-min-version tls-cipher-suites logging-format v feature-gates kubeconfig`)
}

func vsphere() Provider {
	return Provider{
		Name: "vsphere", Lease: "capv-controller-manager-runtime", served: []string{"v1beta2", "v1beta1"},
		Kinds: []string{
			"VSphereCluster", "VSphereClusterIdentity", "VSphereClusterTemplate", "VSphereDeploymentZone", "VSphereFailureDomain", "VSphereMachine",
			"VSphereMachineTemplate", "VSphereVM",
		},
		first: version{1, 0, 0}, last: version{1, 17, 0},
		flags: append(common(), strings.Fields(`leader-election-id clustercache-concurrency vspherecluster-concurrency vspheremachine-concurrency
			vspheremachinetemplate-concurrency providerserviceaccount-concurrency servicediscovery-concurrency vspherevm-concurrency
			vsphereclusteridentity-concurrency vspheredeploymentzone-concurrency virtualmachinegroup-concurrency pod-name credentials-file
			network-provider vm-operator-api-version contention-profiling skip-crd-migration-phases clustercache-client-qps
			clustercache-client-burst`)...),
		gates: gates(),
		rules: []func(*examination){
			refused(validation.Written), thumbprints, otherThumbprints, clusterModules, zones, failureDomains, missingFailureDomains, smallMachines, snapshots, droppedFields, tasks, claims, formerOwners,
		},
	}
}

// gates returns the feature gates that the manager accepts.
func gates() []string {
	names := []string{validation.NodeAntiAffinity, "AllAlpha"}
	for _, gate := range validation.IgnoredGates() {
		names = append(names, gate.Name)
	}
	return names
}
