// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FailureDomainType is the kind of vCenter object that a region or a zone is.
type FailureDomainType string

const (
	// HostGroupFailureDomain is a DRS host group of a compute cluster.
	HostGroupFailureDomain FailureDomainType = "HostGroup"

	// ComputeClusterFailureDomain is a compute cluster.
	ComputeClusterFailureDomain FailureDomainType = "ComputeCluster"

	// DatacenterFailureDomain is a datacenter.
	DatacenterFailureDomain FailureDomainType = "Datacenter"
)

// VSphereFailureDomainSpec says what part of a vCenter fails together.
type VSphereFailureDomainSpec struct {
	// region is the larger unit, by its vSphere tag.
	// +required
	Region FailureDomain `json:"region,omitzero"`

	// zone is the smaller unit, by its vSphere tag.
	// +required
	Zone FailureDomain `json:"zone,omitzero"`

	// topology is where in the inventory the machines of this failure domain
	// are put.
	// +required
	Topology Topology `json:"topology,omitzero"`

	// drift is what happens when somebody changes or removes in vCenter what
	// autoConfigure has made: Report says so in condition AutoConfigured of the
	// zones and in an event, Repair puts it back. What somebody else has made is
	// never changed. Defaults to Report.
	// +optional
	Drift DriftPolicy `json:"drift,omitempty"`
}

// DriftPolicy is what happens when what was made is found changed.
// +kubebuilder:validation:Enum=Report;Repair
type DriftPolicy string

const (
	// ReportDrift changes nothing.
	ReportDrift DriftPolicy = "Report"
	// RepairDrift puts it back.
	RepairDrift DriftPolicy = "Repair"
)

// FailureDomain is a region or a zone: a vSphere tag, and the kind of object
// that carries it.
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

	// autoConfigure has what is missing made in vCenter: the category, for
	// objects of the type and with one tag an object, the tag, and its
	// attachment to the objects. Of a zone that is a HostGroup these are the
	// hosts of the group. Without it all of them are only verified. What was
	// made is removed with the last zone that uses it.
	// +optional
	AutoConfigure *bool `json:"autoConfigure,omitempty"`
}

// Topology is a place in the inventory.
type Topology struct {
	// datacenter of the failure domain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Datacenter string `json:"datacenter,omitempty"`

	// computeCluster of the failure domain. Machines go to its root resource
	// pool unless the deployment zone names another.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ComputeCluster string `json:"computeCluster,omitempty"`

	// hosts are the groups that tie machines to hosts of the compute cluster.
	// +optional
	Hosts FailureDomainHosts `json:"hosts,omitempty,omitzero"`

	// networks are names of networks, one for each network card in order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	Networks []string `json:"networks,omitempty"`

	// networkConfigurations are networks and how to configure the cards on
	// them, one for each network card in order.
	// +optional
	// +listType=map
	// +listMapKey=networkName
	// +kubebuilder:validation:MaxItems=128
	NetworkConfigurations []NetworkConfiguration `json:"networkConfigurations,omitempty"`

	// datastore that the machines' files are put on.
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

// NetworkConfiguration is a network of a failure domain and how the card on it
// is configured. What it leaves out is taken from the machine.
type NetworkConfiguration struct {
	// networkName is the name or inventory path of the network.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	NetworkName string `json:"networkName,omitempty"`

	// dhcp4 makes the guest ask for an IPv4 address.
	// +optional
	DHCP4 *bool `json:"dhcp4,omitempty"`

	// dhcp6 makes the guest ask for an IPv6 address.
	// +optional
	DHCP6 *bool `json:"dhcp6,omitempty"`

	// nameservers are addresses of DNS servers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Nameservers []string `json:"nameservers,omitempty"`

	// searchDomains are searched when a name is resolved.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	SearchDomains []string `json:"searchDomains,omitempty"`

	// dhcp4Overrides tune the DHCP client for IPv4.
	// +optional
	DHCP4Overrides *DHCPOverrides `json:"dhcp4Overrides,omitempty"`

	// dhcp6Overrides tune the DHCP client for IPv6.
	// +optional
	DHCP6Overrides *DHCPOverrides `json:"dhcp6Overrides,omitempty"`

	// addressesFromPools are pools that an IPAM provider takes addresses of
	// this card from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	AddressesFromPools []IPPoolReference `json:"addressesFromPools,omitempty"`
}

// FailureDomainHosts are the two DRS groups of a rule that keeps virtual
// machines on certain hosts. Groups and rule are made by the vSphere
// administrator, or by autoConfigure.
type FailureDomainHosts struct {
	// vmGroupName is the VM group that machines are added to. With
	// autoConfigure it may be left out: then it is given a name that no other
	// management cluster gives.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	VMGroupName string `json:"vmGroupName,omitempty"`

	// hostGroupName is the host group that the rule keeps the VM group on. With
	// autoConfigure it may be left out, as vmGroupName may.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	HostGroupName string `json:"hostGroupName,omitempty"`

	// rule is what the rule must at least be: Must ("must run on hosts in
	// group") or Should. A "should" rule gives way when the hosts of the group
	// are full or down, so that machines may run, or be moved, outside of the
	// failure domain. With Should each machine is put on a host of the group
	// explicitly, and its VSphereVM says so when it is found elsewhere.
	// Defaults to Must.
	// +optional
	Rule HostGroupRule `json:"rule,omitempty"`

	// autoConfigure has what is missing made in vCenter: the VM group, the rule,
	// and, if hostNames or hostTag say of which hosts, the host group. Without
	// it all of them are only verified. What was made is removed with the last
	// zone that uses it.
	// +optional
	AutoConfigure *bool `json:"autoConfigure,omitempty"`

	// hostNames are the hosts of the compute cluster that a host group made by
	// autoConfigure has.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	HostNames []string `json:"hostNames,omitempty"`

	// hostTag is carried by the hosts of the compute cluster that a host group
	// made by autoConfigure has. It takes the place of hostNames. Hosts that
	// are given the tag, or lose it, later on join and leave the group.
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

// HostGroupRule is how strictly a VM/host rule must bind.
// +kubebuilder:validation:Enum=Must;Should
type HostGroupRule string

const (
	// MustRule asks for a rule that vSphere never breaks.
	MustRule HostGroupRule = "Must"
	// ShouldRule is content with a rule that gives way.
	ShouldRule HostGroupRule = "Should"
)

// IsDefined tells whether any group is named.
func (h FailureDomainHosts) IsDefined() bool {
	return h.VMGroupName != "" || h.HostGroupName != ""
}

// VSphereFailureDomain is a part of a vCenter that fails together. It is used
// through the VSphereDeploymentZones that name it, whose status says whether it
// is as described.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=vspherefailuredomains,scope=Cluster,categories=cluster-api
// +kubebuilder:printcolumn:name="Region",type="string",JSONPath=".spec.region.name",description="Tag of the region"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".spec.zone.name",description="Tag of the zone"
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.zone.type",description="Kind of object that the zone is"
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

	// spec is what the failure domain is.
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
