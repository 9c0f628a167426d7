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

// Group is that of all infrastructure providers' kinds, and LoadBalancerGroup that of what gives addresses on Harvester.
const (
	Group             = "infrastructure.cluster.x-k8s.io"
	LoadBalancerGroup = "loadbalancer.harvesterhci.io"
)

// Provider is what is known of one of this project's providers, and of upstream's that it takes over from.
type Provider struct {
	// Name is clusterctl's.
	Name string
	// Group is that of its kinds, and Kinds are those that are taken over.
	Group string
	Kinds []string
	// Beside are other kinds that are looked at.
	Beside []schema.GroupKind
	// Lease is the name of the lease that both managers ask for, and LeaseNamespace where, "" for where they are installed.
	Lease, LeaseNamespace string
	// unelected says that upstream's manager asks for the lease only when it is told to.
	unelected bool
	// Alone says that it is no provider of Cluster API.
	Alone bool

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
func Providers() []Provider {
	all := []Provider{vsphere(), metal3(), harvester(), loadBalancer()}
	for i := range all {
		if all[i].Group == "" {
			all[i].Group = Group
		}
	}
	return all
}

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
		gates: gates(),
		rules: []func(*examination){
			refused(validation.Written), thumbprints, otherThumbprints, modules, zones, failureDomains, placedElsewhere, smallMachines, snapshots, droppedFields, tasks, claims, formerOwners,
		},
	}
}

// gates are the feature gates that the manager accepts.
func gates() []string {
	names := []string{validation.NodeAntiAffinity, "AllAlpha"}
	for _, gate := range validation.IgnoredGates() {
		names = append(names, gate.Name)
	}
	return names
}
