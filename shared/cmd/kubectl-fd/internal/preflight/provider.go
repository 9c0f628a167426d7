// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"
)

// Group is that of all infrastructure providers' kinds.
const Group = "infrastructure.cluster.x-k8s.io"

// Provider is what is known of one of this project's providers, and of upstream's that it takes over from.
type Provider struct {
	// Name is clusterctl's.
	Name string
	// Kinds are those that are taken over.
	Kinds []string
	// Lease is the name of the lease that both managers ask for.
	Lease string

	// served are the versions of the kinds that this provider serves, the stored one first.
	served []string
	// first and last are upstream's release series, as major and minor version, that metadata.yaml has.
	first, last version
	// flags are those of upstream's manager that this one knows, and gates the feature gates.
	flags, gates []string
	rules        []func(*examination)
}

// label is the value of cluster.x-k8s.io/provider on what belongs to it.
func (p Provider) label() string { return "infrastructure-" + p.Name }

// Providers are all that can be asked for.
func Providers() []Provider { return []Provider{vsphere(), metal3(), harvester()} }

// Find returns providers by name, all for no names.
func Find(names []string) ([]Provider, error) {
	all := Providers()
	if len(names) == 0 {
		return all, nil
	}
	var found []Provider
	for _, name := range names {
		i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no provider %q: choose one of %s", name, strings.Join(Names(), ", "))
		}
		found = append(found, all[i])
	}
	return found, nil
}

// Names are those of all providers.
func Names() []string {
	var names []string
	for _, p := range Providers() {
		names = append(names, p.Name)
	}
	return names
}

// common are the flags that the managers of all providers share.
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
		gates: strings.Fields(`PriorityQueue ReconcilerRateLimiting NodeAntiAffinity AllAlpha AllBeta`),
		rules: []func(*examination){
			thumbprints, modules, zones, failureDomains, placedElsewhere, smallMachines, snapshots, droppedFields, tasks, claims, formerOwners,
		},
	}
}

func metal3() Provider {
	return Provider{
		Name: "metal3", Lease: "controller-leader-election-capm3", served: []string{"v1beta2", "v1beta1"},
		Kinds: []string{
			"Metal3Cluster", "Metal3ClusterTemplate", "Metal3Data", "Metal3DataClaim", "Metal3DataTemplate", "Metal3Machine", "Metal3MachineTemplate",
			"Metal3Remediation", "Metal3RemediationTemplate",
		},
		first: version{1, 1, 0}, last: version{1, 14, 0},
		rules: []func(*examination){preallocation, racks},
	}
}

func harvester() Provider {
	return Provider{
		Name: "harvester", Lease: "1e1658d6.cluster.x-k8s.io", served: []string{"v1beta1", "v1alpha1"},
		Kinds: []string{"HarvesterCluster", "HarvesterClusterTemplate", "HarvesterMachine", "HarvesterMachineTemplate"},
		first: version{0, 1, 0}, last: version{0, 10, 0},
		rules: []func(*examination){pools},
	}
}
