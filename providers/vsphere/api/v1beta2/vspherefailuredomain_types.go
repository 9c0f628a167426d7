// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FailureDomainType is the kind of vCenter object of a region or zone.
type FailureDomainType string

const (
	// HostGroupFailureDomain is a DRS host group of a compute cluster.
	HostGroupFailureDomain FailureDomainType = "HostGroup"

	// ComputeClusterFailureDomain is a compute cluster.
	ComputeClusterFailureDomain FailureDomainType = "ComputeCluster"

	// DatacenterFailureDomain is a datacenter.
	DatacenterFailureDomain FailureDomainType = "Datacenter"
)

// VSphereFailureDomainSpec defines the desired state of VSphereFailureDomain.
type VSphereFailureDomainSpec struct {
	// region is the larger unit, identified by its vSphere tag.
	// +required
	Region FailureDomain `json:"region,omitzero"`

	// zone is the smaller unit, identified by its vSphere tag.
	// +required
	Zone FailureDomain `json:"zone,omitzero"`

	// topology is the part of the inventory in which the machines of this failure domain are placed.
	// +required
	Topology Topology `json:"topology,omitzero"`

	// drift is the policy for changes that another client makes in vCenter to what autoConfigure has created: Report reports
	// them in condition AutoConfigured of the zones and in an event, Repair reverts them. Objects created by other clients are
	// never changed. Defaults to Report.
	// +optional
	Drift DriftPolicy `json:"drift,omitempty"`
}

// DriftPolicy is the policy for drift of what was created.
// +kubebuilder:validation:Enum=Report;Repair
type DriftPolicy string

const (
	// ReportDrift only reports drift.
	ReportDrift DriftPolicy = "Report"
	// RepairDrift reverts drift.
	RepairDrift DriftPolicy = "Repair"
)

// FailureDomain is a region or a zone: a vSphere tag, and the kind of object that carries it.
type FailureDomain struct {
	// name of the tag.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// type of the objects that carry the tag.
	// +required
	// +kubebuilder:validation:Enum=Datacenter;ComputeCluster;HostGroup
	Type FailureDomainType `json:"type,omitempty"`

	// tagCategory is the category of the tag.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	TagCategory string `json:"tagCategory,omitempty"`

	// autoConfigure creates what is missing in vCenter: the category, for objects of the type and with one tag per object, the
	// tag, and its attachment to the objects. For a zone of type HostGroup these are the hosts of the group. If omitted, all of
	// them are only verified. What was created is removed with the last zone that uses it.
	// +optional
	AutoConfigure *bool `json:"autoConfigure,omitempty"`
}

// Topology is a part of the inventory.
type Topology struct {
	// datacenter of the failure domain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Datacenter string `json:"datacenter,omitempty"`

	// computeCluster of the failure domain. Machines are placed in its root resource pool unless the deployment zone names
	// another.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ComputeCluster string `json:"computeCluster,omitempty"`

	// hosts are the groups that tie machines to hosts of the compute cluster.
	// +optional
	Hosts FailureDomainHosts `json:"hosts,omitempty,omitzero"`

	// networks are names of networks, one per network card, in order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	Networks []string `json:"networks,omitempty"`

	// networkConfigurations are networks and the configuration of the cards connected to them, one per network card, in order.
	// +optional
	// +listType=map
	// +listMapKey=networkName
	// +kubebuilder:validation:MaxItems=128
	NetworkConfigurations []NetworkConfiguration `json:"networkConfigurations,omitempty"`

	// datastore on which the machines' files are placed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Datastore string `json:"datastore,omitempty"`

	// template to clone in this failure domain instead of the machine's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Template string `json:"template,omitempty"`
}

// NetworkConfiguration is a network of a failure domain and the configuration of the card connected to it. Omitted fields are
// taken from the machine.
type NetworkConfiguration struct {
	// networkName is the name or inventory path of the network.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	NetworkName string `json:"networkName,omitempty"`

	// dhcp4 enables DHCP for IPv4.
	// +optional
	DHCP4 *bool `json:"dhcp4,omitempty"`

	// dhcp6 enables DHCP for IPv6.
	// +optional
	DHCP6 *bool `json:"dhcp6,omitempty"`

	// nameservers are addresses of DNS servers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Nameservers []string `json:"nameservers,omitempty"`

	// searchDomains are the DNS search domains.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	SearchDomains []string `json:"searchDomains,omitempty"`

	// dhcp4Overrides configure the DHCP client for IPv4.
	// +optional
	DHCP4Overrides *DHCPOverrides `json:"dhcp4Overrides,omitempty"`

	// dhcp6Overrides configure the DHCP client for IPv6.
	// +optional
	DHCP6Overrides *DHCPOverrides `json:"dhcp6Overrides,omitempty"`

	// addressesFromPools are the pools from which an IPAM provider allocates addresses for this card.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	AddressesFromPools []IPPoolReference `json:"addressesFromPools,omitempty"`
}

// FailureDomainHosts are the two DRS groups of a rule that keeps virtual machines on certain hosts. The groups and the rule are
// created by the vSphere administrator or by autoConfigure.
type FailureDomainHosts struct {
	// vmGroupName is the VM group to which machines are added. It may be omitted with autoConfigure, which then sets a name
	// that is unique to this management cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	VMGroupName string `json:"vmGroupName,omitempty"`

	// hostGroupName is the host group on which the rule keeps the VM group. It may be omitted with autoConfigure, like
	// vmGroupName.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	HostGroupName string `json:"hostGroupName,omitempty"`

	// rule is the minimum strictness of the rule: Must ("must run on hosts in group") or Should. A "should" rule is violated
	// when the hosts of the group are full or down, so that machines may run, or be moved, outside of the failure domain. With
	// Should each machine is placed on a host of the group explicitly, and its VSphereVM reports when it is found on another
	// host. Defaults to Must.
	// +optional
	Rule HostGroupRule `json:"rule,omitempty"`

	// autoConfigure creates what is missing in vCenter: the VM group, the rule, and, if hostNames or hostTag is set, the host
	// group. If omitted, all of them are only verified. What was created is removed with the last zone that uses it.
	// +optional
	AutoConfigure *bool `json:"autoConfigure,omitempty"`

	// hostNames are the hosts of the compute cluster for a host group created by autoConfigure.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	HostNames []string `json:"hostNames,omitempty"`

	// hostTag is the tag of the hosts of the compute cluster for a host group created by autoConfigure. It replaces hostNames.
	// Hosts that gain or lose the tag later are added to or removed from the group.
	// +optional
	HostTag HostTag `json:"hostTag,omitempty,omitzero"`
}

// HostTag is a tag that hosts carry.
type HostTag struct {
	// name of the tag.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// category of the tag.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Category string `json:"category,omitempty"`
}

// HostGroupRule is the required strictness of a VM/host rule.
// +kubebuilder:validation:Enum=Must;Should
type HostGroupRule string

const (
	// MustRule requires a rule that vSphere never violates.
	MustRule HostGroupRule = "Must"
	// ShouldRule accepts a rule that vSphere may violate.
	ShouldRule HostGroupRule = "Should"
)

// IsDefined reports whether any group is set.
func (h FailureDomainHosts) IsDefined() bool {
	return h.VMGroupName != "" || h.HostGroupName != ""
}

// VSphereFailureDomain is a part of a vCenter that fails as a unit. It is used through the VSphereDeploymentZones that
// reference it, whose status reports whether it matches its spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=vspherefailuredomains,scope=Cluster,categories=cluster-api
// +kubebuilder:printcolumn:name="Region",type="string",JSONPath=".spec.region.name",description="Tag of the region"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".spec.zone.name",description="Tag of the zone"
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.zone.type",description="Type of the zone"
// +kubebuilder:printcolumn:name="Datacenter",type="string",JSONPath=".spec.topology.datacenter",description="Datacenter of the failure domain"
// +kubebuilder:printcolumn:name="Compute Cluster",type="string",JSONPath=".spec.topology.computeCluster",description="Compute cluster of the failure domain"
// +kubebuilder:printcolumn:name="Host Group",type="string",JSONPath=".spec.topology.hosts.hostGroupName",description="Host group of the failure domain",priority=10
// +kubebuilder:printcolumn:name="Datastore",type="string",JSONPath=".spec.topology.datastore",description="Datastore of the failure domain",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereFailureDomain struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereFailureDomain.
	// +required
	Spec VSphereFailureDomainSpec `json:"spec,omitempty,omitzero"`
}

// VSphereFailureDomainList is a list of VSphereFailureDomains.
//
// +kubebuilder:object:root=true
type VSphereFailureDomainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereFailureDomain `json:"items"`
}
