// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/kubectl-fd/internal/preflight"
)

// soundMetal3, soundHarvester and soundBalancer are installations that only have findings that apply to all.
const (
	soundMetal3 = `
providers:
- {kind: Provider, metadata: {name: cluster-api, namespace: capi-system}, version: v1.14.2}
deployments:
- kind: Deployment
  metadata: {name: capm3-controller-manager, namespace: capm3-system, labels: {cluster.x-k8s.io/provider: infrastructure-metal3}}
  spec: {template: {spec: {containers: [{name: manager, image: "m:v1.13.0", args: [--enable-bmh-name-based-preallocation=false, "--diagnostics-address=:8443", --insecure-diagnostics=false], envFrom: []}]}}}
machines:
- kind: Machine
  metadata: {name: m, namespace: default}
  spec: {clusterName: c, failureDomain: rack-1, infrastructureRef: {kind: Metal3Machine}}
objects:
- kind: Metal3Cluster
  metadata: {name: c, namespace: default, annotations: {metal3.io/metal3-label-sync-prefixes: "example.com, topology.kubernetes.io"}, ownerReferences: [{kind: Cluster, name: c}]}
  spec: {controlPlaneEndpoint: {host: 10.0.0.1, port: 6443}, failureDomains: [{name: rack-1, controlPlane: true}]}
- kind: Metal3Machine
  metadata: {name: m, namespace: default, annotations: {metal3.io/BareMetalHost: default/h}}
  spec: {image: {url: "http://images.example/node.qcow2", checksum: abc}}
- kind: Metal3DataTemplate
  metadata: {name: d, namespace: default}
  spec: {metaData: {ipAddressesFromPool: [{key: ip, name: pool, apiGroup: ipam.metal3.io, kind: IPPool}]}}
- kind: Metal3Remediation
  metadata: {name: r, namespace: default}
  status: {phase: Failed}
- kind: BareMetalHost
  metadata: {name: h, namespace: default, labels: {}}
  spec: {consumerRef: {kind: Metal3Machine, name: m}}
- kind: BareMetalHost
  metadata: {name: i, namespace: default, labels: {infrastructure.cluster.x-k8s.io/failure-domain: rack-1}}
`
	soundHarvester = `
providers:
- {kind: Provider, metadata: {name: cluster-api, namespace: capi-system}, version: v1.14.2}
deployments:
- kind: Deployment
  metadata: {name: caphv-controller-manager, namespace: caphv-system, labels: {cluster.x-k8s.io/provider: infrastructure-harvester}}
  spec: {template: {spec: {containers: [{name: manager, image: "m:v0.10.1", args: [--leader-elect]}]}}}
objects:
- kind: HarvesterCluster
  metadata: {name: c, namespace: default, ownerReferences: [{kind: Cluster, name: c}]}
  spec:
    server: https://10.0.0.1
    identitySecret: {namespace: default, name: harvester}
    targetNamespace: work
    loadBalancerConfig: {ipamType: pool, ipPoolRef: pool}
    controlPlaneEndpoint: {host: 10.0.0.9, port: 6443}
    vmNetworkConfig: {ipPoolRefs: [machines], gateway: 10.0.0.1, subnetMask: 255.255.255.0}
  status: {failureDomains: [{name: zone-a, attributes: {topologyKey: topology.kubernetes.io/zone}}], conditions: [{type: LoadBalancerReady}]}
- kind: HarvesterMachine
  metadata: {name: m, namespace: default}
  spec: {providerID: "harvester://1", cpu: 2, memory: 4Gi, volumes: [{volumeType: image, imageName: u}]}
- kind: HarvesterMachineTemplate
  metadata: {name: t, namespace: default}
  spec: {template: {spec: {networks: [vlan1], failureDomain: ""}}}
`
	soundBalancer = `
leases:
- {kind: Lease, metadata: {name: harvester-load-balancer, namespace: kube-system}, spec: {holderIdentity: ""}}
objects:
- kind: IPPool
  metadata: {name: a, creationTimestamp: "2026-01-01T00:00:00Z"}
  spec: {ranges: [{subnet: 10.0.0.0/24}], selector: {network: default/one, scope: [{project: "*", namespace: "*", guestCluster: "*"}]}}
  status: {allocated: {10.0.0.5: default/web}}
- kind: IPPool
  metadata: {name: b, creationTimestamp: "2026-01-02T00:00:00Z"}
  spec: {ranges: [{subnet: 10.1.0.0/24}], selector: {scope: [{namespace: x}]}}
- kind: LoadBalancer
  metadata: {name: web, namespace: default, annotations: {loadbalancer.harvesterhci.io/network: default/one}}
  spec: {listeners: [{port: 80, protocol: TCP, backendPort: 80}], ipam: pool}
  status: {allocatedAddress: {ipPool: a, ip: 10.0.0.5}}
- kind: VirtualMachine
  metadata: {name: v, namespace: default, finalizers: [kubevirt.io/virtualMachineControllerFinalize]}
- kind: ConfigMap
  metadata: {name: kubevip, namespace: kube-system, annotations: {loadbalancer.harvesterhci.io/after-conversion: "true"}}
  data: {cidr-default: 10.9.0.0/24}
`
)

// Each rule has an object with a finding, and no finding in the sound installation: change makes the difference.
func TestBehaviourFindings(t *testing.T) { //nolint:funlen // it is a table
	t.Parallel()
	texts := map[string]string{"metal3": soundMetal3, "harvester": soundHarvester, "harvester-load-balancer": soundBalancer}
	for name, test := range map[string]struct {
		provider string
		change
		verdict     preflight.Verdict
		rule, about string // kind and name
		field, says string
	}{
		"addresses by the names of hosts":                {"metal3", change{"preallocation=false", "preallocation=true"}, preflight.Check, "Preallocation", "Deployment capm3-controller-manager", "", "ENABLE_BMH_NAME_BASED_PREALLOCATION=true"},
		"addresses by the names of hosts, before":        {"metal3", change{"--enable-bmh-name-based-preallocation=false", "--enableBMHNameBasedPreallocation=true"}, preflight.Check, "Preallocation", "Deployment capm3-controller-manager", "", "change their addresses"},
		"metrics without authentication":                 {"metal3", change{"diagnostics=false", "diagnostics=true"}, preflight.Check, "Diagnostics", "Deployment capm3-controller-manager", "", "CAPM3_INSECURE_DIAGNOSTICS=true"},
		"metrics elsewhere":                              {"metal3", change{"=:8443", "=:9443"}, preflight.Check, "Diagnostics", "Deployment capm3-controller-manager", "", "CAPM3_DIAGNOSTICS_ADDRESS=:9443"},
		"a ConfigMap for fast track":                     {"metal3", change{"envFrom: []", "envFrom: [{configMapRef: {name: capm3-capm3fasttrack-configmap}}]"}, preflight.Check, "FastTrack", "Deployment capm3-controller-manager", "", "capm3-capm3fasttrack-configmap is not read"},
		"a rack without hosts":                           {"metal3", change{"failure-domain: rack-1}", "failure-domain: rack-2}"}, preflight.Stops, "FailureDomains", "Metal3Cluster c", "spec.failureDomains[0].name", "no BareMetalHost of the namespace has the label"},
		"a rack that no label can name":                  {"metal3", change{"[{name: rack-1,", "[{name: rack 1,"}, preflight.Stops, "FailureDomains", "Metal3Cluster c", "spec.failureDomains[0].name", "no BareMetalHost of the namespace has the label"},
		"a machine of no rack that there is":             {"metal3", change{"failureDomain: rack-1", "failureDomain: rack-9"}, preflight.Check, "Machines", "Machine m", "spec.failureDomain", "would wait"},
		"a machine of a rack that is not listed":         {"metal3", change{"[{name: rack-1, controlPlane: true}]", "[]"}, preflight.Changes, "Machines", "Machine m", "spec.failureDomain", "FailureDomainUnlisted"},
		"labels that Nodes must not get":                 {"metal3", change{"topology.kubernetes.io\"", "node-role.kubernetes.io\""}, preflight.Check, "Labels", "Metal3Cluster c", "", "node-role.kubernetes.io"},
		"two hosts of one machine":                       {"metal3", change{"failure-domain: rack-1}}", "failure-domain: rack-1}}\n  spec: {consumerRef: {kind: Metal3Machine, name: m}}"}, preflight.Check, "Hosts", "Metal3Machine m", "", "BareMetalHosts h, i"},
		"a host that does not know its machine":          {"metal3", change{"name: m}}\n- kind: BareMetalHost", "name: n}}\n- kind: BareMetalHost"}, preflight.Stops, "Hosts", "Metal3Machine m", "", "does not name it in spec.consumerRef"},
		"a host that is gone":                            {"metal3", change{"default/h}", "default/gone}"}, preflight.Stops, "Hosts", "Metal3Machine m", "", "does not exist"},
		"a host that is detached":                        {"metal3", change{"{name: i,", "{name: i, annotations: {baremetalhost.metal3.io/detached: \"\"},"}, preflight.Changes, "Hosts", "BareMetalHost i", "", "no machine uses it"},
		"zones of Nodes":                                 {"metal3", change{"labels: {}", "labels: {infrastructure.cluster.x-k8s.io/failure-domain: rack-1}"}, preflight.Check, "Labels", "BareMetalHost ", "", "topology.kubernetes.io/zone"},
		"hosts that are owned":                           {"metal3", change{"labels: {}", "ownerReferences: [{kind: Metal3Machine, name: m}]"}, preflight.Changes, "Owners", "BareMetalHost ", "", "is removed from 1 hosts"},
		"a reboot":                                       {"metal3", change{"phase: Failed", "phase: Waiting"}, preflight.Check, "Remediation", "Metal3Remediation r", "", "(Waiting)"},
		"a pool of another provider":                     {"metal3", change{"apiGroup: ipam.metal3.io, kind: IPPool", "apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool"}, preflight.Check, "Pools", "Metal3DataTemplate d", "spec.metaData.ipAddressesFromPool[0]", "InClusterIPPool pool of ipam.cluster.x-k8s.io"},
		"name servers from a pool":                       {"metal3", change{"ipAddressesFromPool", "dnsServersFromPool"}, preflight.Changes, "Pools", "Metal3DataTemplate d", "spec.metaData.dnsServersFromPool", "is rendered"},
		"name servers from a pool, in v1beta1":           {"metal3", change{"ipAddressesFromPool", "dnsServersFromIPPool"}, preflight.Changes, "Pools", "Metal3DataTemplate d", "spec.metaData.dnsServersFromIPPool", "is rendered"},
		"no endpoint of Harvester's yet":                 {"harvester", change{"host: 10.0.0.9", "host: 0.0.0.0"}, preflight.Check, "LoadBalancer", "HarvesterCluster c", "spec.controlPlaneEndpoint", "no address yet"},
		"clusters of one name":                           {"harvester", change{"- kind: HarvesterMachine\n", "- {kind: HarvesterCluster, metadata: {name: d, namespace: other, ownerReferences: [{kind: Cluster, name: c}]}, spec: {server: 'https://10.0.0.1', targetNamespace: work}}\n- kind: HarvesterMachine\n"}, preflight.Check, "Names", "HarvesterCluster c", "", "HarvesterCluster other/d"},
		"single hosts as failure domains":                {"harvester", change{"topologyKey: topology.kubernetes.io/zone", "topologyKey: kubernetes.io/hostname"}, preflight.Check, "FailureDomains", "HarvesterCluster c", "", "zone-a are single hosts"},
		"an account for the cloud provider":              {"harvester", change{"targetNamespace: work", "targetNamespace: work\n    updateCloudProviderConfig: {manifestsConfigMapName: m}"}, preflight.Check, "Account", "HarvesterCluster c", "", "harvesterhci.io:cloudprovider"},
		"labels in Rancher":                              {"harvester", change{"type: LoadBalancerReady", "type: FleetIntegrationReady"}, preflight.Changes, "Rancher", "HarvesterCluster c", "", "FleetIntegrationReady"},
		"a pool in a namespace":                          {"harvester", change{"ipPoolRef: pool", "ipPoolRef: default/pool"}, preflight.Check, "Pools", "HarvesterCluster c", "spec.loadBalancerConfig", "default/pool is not the name of an IPPool"},
		"one of several pools in a namespace":            {"harvester", change{"[machines]", "[machines, default/pool]"}, preflight.Check, "Pools", "HarvesterCluster c", "spec.vmNetworkConfig", "default/pool is not the name of an IPPool"},
		"a machine that is being made":                   {"harvester", change{"providerID: \"harvester://1\", ", ""}, preflight.Check, "VirtualMachines", "HarvesterMachine m", "spec.providerID", "wait until upstream has finished"},
		"a machine that has been made, and is not known": {"harvester", change{"providerID: \"harvester://1\", cpu: 2, memory: 4Gi, volumes: [{volumeType: image, imageName: u}]}", "cpu: 2}\n  status: {ready: true}"}, preflight.Stops, "VirtualMachines", "HarvesterMachine m", "spec.providerID", "VirtualMachineNotOurs"},
		"addresses from DHCP":                            {"harvester", change{"    vmNetworkConfig: {ipPoolRefs: [machines], gateway: 10.0.0.1, subnetMask: 255.255.255.0}\n", ""}, preflight.Check, "Network", "HarvesterMachineTemplate t", "spec.template.spec.networks", "DHCP"},
		"pools that overlap":                             {"harvester-load-balancer", change{"subnet: 10.1.0.0/24", "subnet: 10.0.0.0/16"}, preflight.Stops, "Pools", "IPPool b", "spec.ranges[0]", "must not overlap with IPPool a"},
		"pools of one priority":                          {"harvester-load-balancer", change{"scope: [{namespace: x}]", "priority: 0, scope: [{project: '*', namespace: '*', guestCluster: '*'}]"}, preflight.Check, "Pools", "IPPool b", "spec.selector.scope", "IPPool a is the global pool"},
		"an address of a pool that is gone":              {"harvester-load-balancer", change{"ipPool: a,", "ipPool: gone,"}, preflight.Check, "Addresses", "LoadBalancer web", "status.allocatedAddress", "does not exist"},
		"an address that its pool does not know of":      {"harvester-load-balancer", change{"allocated: {10.0.0.5: default/web}", "allocated: {}"}, preflight.Changes, "Addresses", "LoadBalancer web", "status.allocatedAddress", "the new manager adds it"},
		"an address that another has":                    {"harvester-load-balancer", change{"10.0.0.5: default/web", "10.0.0.5: default/other"}, preflight.Stops, "Addresses", "LoadBalancer web", "status.allocatedAddress", "belongs to default/other"},
		"two addresses":                                  {"harvester-load-balancer", change{"10.0.0.5: default/web", "10.0.0.5: default/web, 10.0.0.6: default/web"}, preflight.Changes, "Addresses", "IPPool a", "status.allocated[10.0.0.6]", "whose status has 10.0.0.5"},
		"the global pool of another network":             {"harvester-load-balancer", change{"network: default/one}}", "network: default/two}}"}, preflight.Check, "Networks", "LoadBalancer web", "", "a new load balancer would wait"},
		"a pool with DHCP":                               {"harvester-load-balancer", change{"ipam: pool", "ipam: dhcp, ipPool: a"}, preflight.Changes, "Pools", "LoadBalancer web", "", "no effect"},
		"a ConfigMap of before":                          {"harvester-load-balancer", change{"after-conversion: \"true\"", "other: \"true\""}, preflight.Check, "ConfigMap", "ConfigMap kubevip", "", "is converted to the IPPools default"},
		"a ConfigMap with keys of no meaning":            {"harvester-load-balancer", change{"after-conversion: \"true\"}}\n  data: {", "other: \"true\"}}\n  data: {subnet: a, search-order: desc, "}, preflight.Check, "ConfigMap", "ConfigMap kubevip", "", "its keys subnet are skipped"},
		"finalizers of virtual machines":                 {"harvester-load-balancer", change{"[kubevirt.io/virtualMachineControllerFinalize]", "[wrangler.cattle.io/harvester-lb-vm-controller]"}, preflight.Changes, "Finalizers", "VirtualMachine ", "", "removed from 1 of them"},
		"a lease of the load balancer's":                 {"harvester-load-balancer", change{`holderIdentity: ""`, "holderIdentity: pod-1"}, preflight.Changes, "Lease", "Lease harvester-load-balancer", "", "pod-1 holds it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, sound := NewWithT(t), texts[test.provider]
			g.Expect(strings.Count(sound, test.this)).To(BeNumerically(">", 0))
			is := func(findings []preflight.Finding) (found []preflight.Finding) {
				for _, f := range findings {
					if f.Rule == test.rule && f.Verdict == test.verdict && f.Field == test.field && f.Kind+" "+f.Name == test.about && strings.Contains(f.Message, test.says) {
						found = append(found, f)
					}
				}
				return found
			}
			before := preflight.Examine(provider(t, test.provider), installation(t, sound))
			g.Expect(is(before)).To(BeEmpty())
			after := preflight.Examine(provider(t, test.provider), installation(t, strings.Replace(sound, test.this, test.that, 1)))
			g.Expect(is(after)).To(HaveLen(1), "%+v", after)
		})
	}
}

// A sound installation has nothing to fix, and the objects to check are always the same.
func TestValidInstallationsHaveFewFindings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"metal3": {soundMetal3, []string{
			"Check Deployment capm3-controller-manager Lease", "Check Metal3Cluster c FailureDomains", "Changes Metal3Machine  Hosts", "Changes Metal3Machine  Labels",
		}},
		"harvester": {soundHarvester, []string{
			"Check HarvesterCluster  Account", "Changes HarvesterCluster  InPlace", "Changes HarvesterCluster c LoadBalancer", "Changes HarvesterMachine  Addresses",
			"Changes HarvesterMachineTemplate  InPlace", "Changes HarvesterMachineTemplate  Bootstrap",
		}},
		"harvester-load-balancer": {soundBalancer, nil},
	} {
		var got []string
		for _, f := range preflight.Examine(provider(t, name), installation(t, test.text)) {
			got = append(got, string(f.Verdict)+" "+f.Kind+" "+f.Name+" "+f.Rule)
		}
		NewWithT(t).Expect(got).To(ConsistOf(test.want))
	}
}

// Upstream's Deployment for metal3 has no --leader-elect, which defaults to false there.
func TestLeaderElectionFinding(t *testing.T) {
	t.Parallel()
	for name, becomes := range map[string]change{
		"asks for it": {"args: [", "args: [--leader-elect, "}, "does not run": {"spec: {template: {spec: {containers", "spec: {replicas: 0, template: {spec: {containers"},
	} {
		for _, f := range preflight.Examine(provider(t, "metal3"), installation(t, strings.Replace(soundMetal3, becomes.this, becomes.that, 1))) {
			NewWithT(t).Expect(f.Rule).NotTo(Equal("Lease"), name)
		}
	}
}
