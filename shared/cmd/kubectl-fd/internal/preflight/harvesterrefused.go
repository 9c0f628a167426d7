// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline-io/faultline/shared/rules/affinity"
	"github.com/faultline-io/faultline/shared/rules/naming"
)

// harvesterKinds are what this provider's webhook refuses.
func harvesterKinds() []kind {
	inTemplate := []string{"spec", "template", "spec"}
	return []kind{
		{name: "HarvesterCluster", spec: []string{"spec"}, look: harvesterCluster},
		{name: "HarvesterClusterTemplate", spec: inTemplate, look: func(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
			return as[harvesterClusterSpec](object, inTemplate...).errors(path)
		}},
		{name: "HarvesterMachine", spec: []string{"spec"}, look: harvesterMachine},
		{name: "HarvesterMachineTemplate", spec: inTemplate, makes: "HarvesterMachine", look: func(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
			spec := as[harvesterMachineSpec](object, inTemplate...)
			errs := spec.errors(path)
			if spec.ProviderID != "" {
				errs = append(errs, field.Forbidden(path.Child("providerID"), "all machines of the template would share it"))
			}
			return errs
		}},
	}
}

// harvesterClusterSpec is what is looked at of a HarvesterCluster.
type harvesterClusterSpec struct {
	IdentitySecret       reference
	TargetNamespace      string
	ControlPlaneEndpoint struct {
		Host string
		Port int32
	}
	LoadBalancerConfig struct {
		IPAMType, IPPoolRef string
		IPPool              harvesterPool
		Listeners           []struct {
			Name, Protocol    string
			Port, BackendPort int32
		}
	}
	VMNetworkConfig *harvesterVMNetwork
}

type (
	harvesterPool struct{ VMNetwork, Subnet, Gateway, RangeStart, RangeEnd string }
	// harvesterVMNetwork is where machines have their addresses from.
	harvesterVMNetwork struct {
		IPPoolRef, Gateway, SubnetMask    string
		IPPoolRefs, DNSServers, DNSSearch []string
		IPPool                            *harvesterPool
	}
)

// harvesterCluster has the rules of a cluster, and wants what a template may leave out.
func harvesterCluster(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	spec := as[harvesterClusterSpec](object, "spec")
	errs := spec.errors(path)
	for _, wanted := range []struct {
		is   string
		path *field.Path
		what string
	}{
		{spec.IdentitySecret.Name, path.Child("identitySecret", "name"), "name the Secret with Harvester's kubeconfig"},
		{spec.IdentitySecret.Namespace, path.Child("identitySecret", "namespace"), "name the namespace of the Secret with Harvester's kubeconfig"},
		{spec.TargetNamespace, path.Child("targetNamespace"), "name the namespace on Harvester that has the virtual machines"},
	} {
		if wanted.is == "" {
			errs = append(errs, field.Required(wanted.path, wanted.what))
		}
	}
	if config := spec.LoadBalancerConfig; config.IPPool != (harvesterPool{}) && config.IPPoolRef != "" && config.IPPoolRef != recordedPool(object) {
		errs = append(errs, field.Forbidden(path.Child("loadBalancerConfig", "ipPoolRef"), "is not used with ipPool: remove one of the two"))
	}
	return errs
}

// recordedPool is the name by which upstream notes a pool that it has made.
func recordedPool(cluster *unstructured.Unstructured) string {
	name := strings.ToLower(cluster.GetNamespace() + "-" + cluster.GetName() + "-ippool")
	return name[:min(len(name), validation.DNS1123LabelMaxLength)]
}

func (s harvesterClusterSpec) errors(path *field.Path) field.ErrorList {
	config, balancer := s.LoadBalancerConfig, path.Child("loadBalancerConfig")
	var errs field.ErrorList
	if config.IPAMType == "dhcp" && config.IPPool != (harvesterPool{}) {
		errs = append(errs, field.Forbidden(balancer.Child("ipPool"), "is not used with ipamType dhcp: remove it"))
	}
	if config.IPAMType == "dhcp" && config.IPPoolRef != "" {
		errs = append(errs, field.Forbidden(balancer.Child("ipPoolRef"), "is not used with ipamType dhcp: remove it"))
	}
	if config.IPPool != (harvesterPool{}) {
		errs = append(errs, config.IPPool.errors(balancer.Child("ipPool"))...)
	}
	errs = append(errs, s.listeners(balancer.Child("listeners"))...)
	if s.TargetNamespace != "" && len(validation.IsDNS1123Label(s.TargetNamespace)) > 0 {
		errs = append(errs, field.Invalid(path.Child("targetNamespace"), s.TargetNamespace, "is no name of a namespace"))
	}
	if s.VMNetworkConfig != nil {
		errs = append(errs, s.VMNetworkConfig.errors(path.Child("vmNetworkConfig"))...)
	}
	return errs
}

// listeners want to differ from each other, and from that of the API server, which may be listed and is added otherwise.
func (s harvesterClusterSpec) listeners(path *field.Path) field.ErrorList {
	names, ports, apiServer := map[string]bool{}, map[string]bool{}, s.ControlPlaneEndpoint.Port
	if apiServer == 0 {
		apiServer = 6443
	}
	var errs field.ErrorList
	for i, listener := range s.LoadBalancerConfig.Listeners {
		path, port := path.Index(i), fmt.Sprintf("%s %d", listener.Protocol, listener.Port)
		switch {
		case len(validation.IsDNS1123Label(listener.Name)) > 0:
			errs = append(errs, field.Invalid(path.Child("name"), listener.Name, "is no name of a port"))
		case names[listener.Name]:
			errs = append(errs, field.Duplicate(path.Child("name"), listener.Name))
		case listener.Name == "api-server" && port != fmt.Sprintf("TCP %d", apiServer):
			errs = append(errs, field.Invalid(path.Child("name"), listener.Name, "is that of the API server's listener, which is added"))
		}
		if ports[port] {
			errs = append(errs, field.Duplicate(path.Child("port"), listener.Port))
		}
		names[listener.Name], ports[port] = true, true
		for name, port := range map[string]int32{"port": listener.Port, "backendPort": listener.BackendPort} {
			if len(validation.IsValidPortNum(int(port))) > 0 {
				errs = append(errs, field.Invalid(path.Child(name), port, "is no port"))
			}
		}
	}
	return errs
}

func (p harvesterPool) errors(path *field.Path) field.ErrorList {
	errs := naming.ValidateReference(p.VMNetwork, path.Child("vmNetwork"))
	subnet, err := netip.ParsePrefix(p.Subnet)
	if err != nil {
		return append(errs, field.Invalid(path.Child("subnet"), p.Subnet, "is no subnet"))
	}
	parsed := map[string]netip.Addr{}
	for _, of := range []struct{ name, value string }{{"gateway", p.Gateway}, {"rangeStart", p.RangeStart}, {"rangeEnd", p.RangeEnd}} {
		if of.value == "" && of.name != "gateway" {
			continue
		}
		address, err := netip.ParseAddr(of.value)
		if err != nil || !subnet.Contains(address) {
			errs = append(errs, field.Invalid(path.Child(of.name), of.value, "is no address in "+subnet.Masked().String()))
		}
		parsed[of.name] = address
	}
	if first, last := parsed["rangeStart"], parsed["rangeEnd"]; first.IsValid() && last.IsValid() && last.Less(first) {
		errs = append(errs, field.Invalid(path.Child("rangeEnd"), p.RangeEnd, "is before "+p.RangeStart))
	}
	return errs
}

func (n harvesterVMNetwork) errors(path *field.Path) field.ErrorList {
	refs := append([]string{}, n.IPPoolRefs...)
	if n.IPPoolRef != "" {
		refs = append(refs, n.IPPoolRef)
	}
	var errs field.ErrorList
	switch {
	case len(refs) == 0 && n.IPPool == nil:
		errs = append(errs, field.Required(path.Child("ipPoolRefs"), "name the pools that addresses are taken from"))
	case len(refs) > 0 && n.IPPool != nil:
		errs = append(errs, field.Forbidden(path.Child("ipPool"), "is not used with pools that are referred to: remove one of the two"))
	}
	if n.IPPool != nil {
		errs = append(errs, n.IPPool.errors(path.Child("ipPool"))...)
	}
	for i, ref := range n.IPPoolRefs {
		if ref == "" {
			errs = append(errs, field.Required(path.Child("ipPoolRefs").Index(i), "name a pool, or remove the item"))
		}
	}
	errs = append(errs, address(n.Gateway, path.Child("gateway"))...)
	if !naming.IsSubnetMask(n.SubnetMask) {
		errs = append(errs, field.Invalid(path.Child("subnetMask"), n.SubnetMask, "is no mask of a subnet"))
	}
	return append(errs, resolver(n.DNSServers, n.DNSSearch, path)...)
}

func resolver(servers, search []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, server := range servers {
		errs = append(errs, address(server, path.Child("dnsServers").Index(i))...)
	}
	for i, domain := range search {
		if !naming.IsSearchDomain(domain) {
			errs = append(errs, field.Invalid(path.Child("dnsSearch").Index(i), domain, "is no domain"))
		}
	}
	return errs
}

// harvesterMachineSpec is what is looked at of a HarvesterMachine.
type harvesterMachineSpec struct {
	ProviderID, FailureDomain, Memory, SSHKeyPair string
	CPU                                           int
	Volumes                                       []harvesterVolume
	Networks                                      []string
	NetworkConfig                                 *struct {
		Address, Gateway      string
		DNSServers, DNSSearch []string
	}
	VMNetworkConfig  *harvesterVMNetwork
	Firmware         struct{ EFI, SecureBoot bool }
	TPM              struct{ Enabled, Persistent bool }
	NodeAffinity     *corev1.NodeAffinity
	WorkloadAffinity *corev1.PodAffinity
}

type harvesterVolume struct {
	VolumeType, ImageName, StorageClass string
	VolumeSize                          *resource.Quantity
	BootOrder                           int
}

func harvesterMachine(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	spec := as[harvesterMachineSpec](object, "spec")
	errs := spec.errors(path)
	for name, missing := range map[string]bool{"cpu": spec.CPU == 0, "memory": spec.Memory == "", "volumes": len(spec.Volumes) == 0} {
		if missing {
			errs = append(errs, field.Required(path.Child(name), "say what the virtual machine has"))
		}
	}
	if len(validation.IsDNS1123Label(object.GetName())) > 0 {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), object.GetName(), "cannot be the name of a virtual machine"))
	}
	return errs
}

func (s harvesterMachineSpec) errors(path *field.Path) field.ErrorList {
	errs := volumes(s.Volumes, path.Child("volumes"))
	for i, network := range s.Networks {
		errs = append(errs, naming.ValidateReference(network, path.Child("networks").Index(i))...)
	}
	if s.SSHKeyPair != "" {
		errs = append(errs, naming.ValidateReference(s.SSHKeyPair, path.Child("sshKeyPair"))...)
	}
	errs = append(errs, s.network(path)...)
	errs = append(errs, s.hardware(path)...)
	if s.NodeAffinity != nil {
		errs = append(errs, affinity.ValidateNode(*s.NodeAffinity, path.Child("nodeAffinity"))...)
	}
	if s.WorkloadAffinity != nil {
		errs = append(errs, affinity.ValidatePod(*s.WorkloadAffinity, path.Child("workloadAffinity"))...)
	}
	errs = append(errs, labelValue(s.FailureDomain, path.Child("failureDomain"))...)
	if s.ProviderID != "" && !strings.HasPrefix(s.ProviderID, "harvester://") {
		errs = append(errs, field.Invalid(path.Child("providerID"), s.ProviderID, "does not begin with harvester://"))
	}
	return errs
}

func (s harvesterMachineSpec) hardware(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if size, err := resource.ParseQuantity(s.Memory); s.Memory != "" && (err != nil || size.Sign() <= 0) {
		errs = append(errs, field.Invalid(path.Child("memory"), s.Memory, "is no amount of memory"))
	}
	if s.Firmware.SecureBoot && !s.Firmware.EFI {
		errs = append(errs, field.Invalid(path.Child("firmware", "secureBoot"), true, "needs efi: true"))
	}
	if s.TPM.Persistent && !s.TPM.Enabled {
		errs = append(errs, field.Invalid(path.Child("tpm", "persistent"), true, "needs enabled: true"))
	}
	return errs
}

func (s harvesterMachineSpec) network(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if config := s.NetworkConfig; config != nil {
		path := path.Child("networkConfig")
		if _, err := netip.ParsePrefix(config.Address); err != nil && len(address(config.Address, path)) > 0 {
			errs = append(errs, field.Invalid(path.Child("address"), config.Address, "is no IP address"))
		}
		errs = append(errs, address(config.Gateway, path.Child("gateway"))...)
		errs = append(errs, resolver(config.DNSServers, config.DNSSearch, path)...)
	}
	if s.VMNetworkConfig == nil {
		return errs
	}
	if s.NetworkConfig != nil {
		errs = append(errs, field.Forbidden(path.Child("vmNetworkConfig"), "is not used with networkConfig: remove one of the two"))
	}
	path = path.Child("vmNetworkConfig")
	if s.VMNetworkConfig.IPPool != nil {
		return append(errs, field.Forbidden(path.Child("ipPool"), "is for HarvesterClusters only: make the pool on Harvester and name it in ipPoolRefs"))
	}
	return append(errs, s.VMNetworkConfig.errors(path)...)
}

func volumes(volumes []harvesterVolume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	order := map[int]bool{}
	for i, volume := range volumes {
		path := path.Index(i)
		errs = append(errs, volume.source(path)...)
		errs = append(errs, volume.size(path.Child("volumeSize"))...)
		switch {
		case volume.BootOrder < 0:
			errs = append(errs, field.Invalid(path.Child("bootOrder"), volume.BootOrder, "is less than 1"))
		case volume.BootOrder > 0 && order[volume.BootOrder]:
			errs = append(errs, field.Duplicate(path.Child("bootOrder"), volume.BootOrder))
		}
		order[volume.BootOrder] = true
	}
	return errs
}

// source wants an image, by namespace/name or a name, or a storage class.
func (v harvesterVolume) source(path *field.Path) field.ErrorList {
	switch {
	case v.VolumeType != "image" && v.StorageClass == "":
		return field.ErrorList{field.Required(path.Child("storageClass"), "name the storage class of the volume")}
	case v.VolumeType == "image" && v.ImageName == "":
		return field.ErrorList{field.Required(path.Child("imageName"), "name the image that the volume is filled from")}
	case v.VolumeType == "image":
		return naming.ValidateImage(v.ImageName, path.Child("imageName"))
	}
	return nil
}

func (v harvesterVolume) size(path *field.Path) field.ErrorList {
	switch {
	case v.VolumeSize != nil && v.VolumeSize.Sign() <= 0:
		return field.ErrorList{field.Invalid(path, v.VolumeSize.String(), "is no size")}
	case v.VolumeSize == nil && v.VolumeType == "storageClass":
		return field.ErrorList{field.Required(path, "say how large the volume is")}
	}
	return nil
}
