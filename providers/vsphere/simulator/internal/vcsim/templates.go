// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Template is a powered-off VM marked as template.
type Template struct {
	Name string
	// Folder is a VM folder. Defaults to the datacenter's own.
	Folder string
	// GuestID is the guest operating system. Defaults to "ubuntu64Guest".
	GuestID string
	// CPUs, MemoryMiB and DiskGiB default to 2, 2048 and 20.
	CPUs, MemoryMiB, DiskGiB int
	// FurtherGiB are the sizes of additional disks.
	FurtherGiB []int
	// CoresPerSocket defaults to 1.
	CoresPerSocket int
	// HardwareVersion is the version of the virtual hardware, such as vmx-10. Defaults to the latest that the hosts support.
	HardwareVersion string
	// Snapshots form a chain; the last one is the current snapshot.
	Snapshots []string
	// Networks names the network of each network card. Defaults to one card on the first network of the template's cluster.
	Networks []string
	// Cluster and Datastore are the location. Default to the first cluster and the first datastore that it mounts.
	Cluster, Datastore string
	// VirtualMachine creates an ordinary VM that is not marked as template.
	VirtualMachine bool
}

// templateBuilder creates the templates of a datacenter.
type templateBuilder struct {
	inventory  *Inventory
	admin      *AdminClient
	datacenter string
	clusters   []*simulator.ClusterComputeResource
}

// newTemplateBuilder returns a templateBuilder for a datacenter, given by name, with its compute clusters.
func newTemplateBuilder(i *Inventory, admin *AdminClient, datacenter string, clusters []*simulator.ClusterComputeResource) *templateBuilder {
	return &templateBuilder{inventory: i, admin: admin, datacenter: datacenter, clusters: clusters}
}

// Add creates a template.
func (b *templateBuilder) Add(spec Template) error {
	if len(b.clusters) == 0 {
		return fmt.Errorf("the datacenter has no cluster")
	}
	name := cmp.Or(spec.Cluster, b.clusters[0].Name)
	at := slices.IndexFunc(b.clusters, func(c *simulator.ClusterComputeResource) bool { return c.Name == name })
	if at < 0 {
		return fmt.Errorf("cluster %q does not exist", spec.Cluster)
	}
	cluster := b.clusters[at]
	folder, err := find[*simulator.Folder](b.inventory, path.Join("/", b.datacenter, "vm", spec.Folder))
	if err != nil {
		return err
	}
	config, err := b.templateConfig(spec, cluster)
	if err != nil {
		return err
	}
	started, err := methods.CreateVM_Task(context.Background(), b.admin.Client, &types.CreateVM_Task{
		This: folder.Self, Config: *config, Pool: *cluster.ResourcePool,
	})
	if err != nil {
		return fmt.Errorf("creating virtual machine: %w", err)
	}
	ref, err := b.admin.AwaitRef(started.Returnval)
	if err != nil {
		return fmt.Errorf("creating virtual machine: %w", err)
	}
	for _, snapshot := range spec.Snapshots {
		if err := b.takeSnapshot(ref, snapshot); err != nil {
			return fmt.Errorf("taking snapshot %q: %w", snapshot, err)
		}
	}
	if spec.VirtualMachine {
		return nil
	}
	if _, err := methods.MarkAsTemplate(context.Background(), b.admin.Client, &types.MarkAsTemplate{This: ref}); err != nil {
		return fmt.Errorf("marking as template: %w", err)
	}
	return nil
}

func (b *templateBuilder) takeSnapshot(vm types.ManagedObjectReference, name string) error {
	started, err := methods.CreateSnapshot_Task(context.Background(), b.admin.Client, &types.CreateSnapshot_Task{This: vm, Name: name})
	if err != nil {
		return err
	}
	_, err = b.admin.Await(started.Returnval)
	return err
}

// templateConfig returns the configuration of the template. Its UUIDs are random: vcsim derives them from the file name, which is
// the same in every datacenter.
func (b *templateBuilder) templateConfig(spec Template, cluster *simulator.ClusterComputeResource) (*types.VirtualMachineConfigSpec, error) {
	datastore := spec.Datastore
	if datastore == "" && len(cluster.Datastore) > 0 {
		datastore = entityName(b.inventory.NewContext(), children(b.inventory.NewContext(), cluster.Datastore)[0])
	}
	if _, ok := child(b.inventory.NewContext(), cluster.Datastore, datastore); !ok {
		return nil, fmt.Errorf("cluster %q has no datastore %q", cluster.Name, datastore)
	}
	devices, err := b.templateDevices(spec, cluster)
	if err != nil {
		return nil, err
	}
	return &types.VirtualMachineConfigSpec{
		Name:         spec.Name,
		GuestId:      cmp.Or(spec.GuestID, string(types.VirtualMachineGuestOsIdentifierUbuntu64Guest)),
		Uuid:         uuid.NewString(),
		InstanceUuid: uuid.NewString(),
		NumCPUs:      int32(cmp.Or(spec.CPUs, 2)),
		MemoryMB:     int64(cmp.Or(spec.MemoryMiB, 2048)),

		NumCoresPerSocket: types.NewInt32(int32(cmp.Or(spec.CoresPerSocket, 1))),
		Files:             &types.VirtualMachineFileInfo{VmPathName: fmt.Sprintf("[%s]", datastore)},
		DeviceChange:      devices,
		Version:           spec.HardwareVersion,
	}, nil
}

func (b *templateBuilder) templateDevices(spec Template, cluster *simulator.ClusterComputeResource) ([]types.BaseVirtualDeviceConfigSpec, error) {
	networks := children(b.inventory.NewContext(), cluster.Network)
	if len(spec.Networks) > 0 {
		networks = nil
		for _, name := range spec.Networks {
			network, ok := child(b.inventory.NewContext(), cluster.Network, name)
			if !ok {
				return nil, fmt.Errorf("cluster %q has no network %q", cluster.Name, name)
			}
			networks = append(networks, network)
		}
	} else if len(networks) > 1 {
		networks = networks[:1]
	}
	var devices object.VirtualDeviceList
	controller, err := devices.CreateSCSIController("pvscsi")
	if err != nil {
		return nil, fmt.Errorf("creating a disk controller: %w", err)
	}
	disk := devices.CreateDisk(controller.(types.BaseVirtualController), types.ManagedObjectReference{}, "")
	disk.CapacityInKB = int64(cmp.Or(spec.DiskGiB, 20)) << 20
	disk.CapacityInBytes = disk.CapacityInKB << 10
	devices = append(devices, controller, disk)
	for i, gib := range spec.FurtherGiB {
		further := devices.CreateDisk(controller.(types.BaseVirtualController), types.ManagedObjectReference{}, "")
		further.Key = int32(-300 - i)
		further.CapacityInKB = int64(gib) << 20
		further.CapacityInBytes = further.CapacityInKB << 10
		devices = append(devices, further)
	}
	for i, network := range networks {
		card, err := b.card(network)
		if err != nil {
			return nil, err
		}
		card.GetVirtualDevice().Key = int32(-100 - i)
		devices = append(devices, card)
	}
	return devices.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
}

func (b *templateBuilder) card(network mo.Entity) (types.BaseVirtualDevice, error) {
	var backing types.BaseVirtualDeviceBackingInfo
	switch network := network.(type) {
	case *simulator.DistributedVirtualPortgroup:
		dvs, _ := Get[*simulator.DistributedVirtualSwitch](b.inventory, network.Config.DistributedVirtualSwitch)
		backing = &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
			Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: network.Key, SwitchUuid: dvs.Uuid},
		}
	default:
		backing = &types.VirtualEthernetCardNetworkBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: entityName(b.inventory.NewContext(), network)},
		}
	}
	var devices object.VirtualDeviceList
	return devices.CreateEthernetCard("vmxnet3", backing)
}
