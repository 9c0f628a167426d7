// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func (b *site) templates() error {
	for _, spec := range b.spec.Templates {
		if err := b.addTemplate(spec); err != nil {
			return fmt.Errorf("template %q: %w", spec.Name, err)
		}
	}
	return nil
}

func (b *site) addTemplate(spec Template) error {
	s := b.server
	if len(b.spec.Clusters) == 0 {
		return fmt.Errorf("the datacenter has no cluster to hold it")
	}
	cluster, ok := b.clusters[cmp.Or(spec.Cluster, b.spec.Clusters[0].Name)]
	if !ok {
		return fmt.Errorf("there is no cluster %q", spec.Cluster)
	}
	folder, err := find[*simulator.Folder](s, path.Join("/", b.spec.Name, "vm", spec.Folder))
	if err != nil {
		return err
	}
	config, err := b.templateConfig(spec, cluster)
	if err != nil {
		return err
	}
	started, err := methods.CreateVM_Task(context.Background(), s.admin.client, &types.CreateVM_Task{
		This: folder.Self, Config: *config, Pool: *cluster.ResourcePool,
	})
	if err != nil {
		return fmt.Errorf("creating it: %w", err)
	}
	ref, err := s.admin.awaitRef(started.Returnval)
	if err != nil {
		return fmt.Errorf("creating it: %w", err)
	}
	for _, snapshot := range spec.Snapshots {
		if err := s.takeSnapshot(ref, snapshot); err != nil {
			return fmt.Errorf("taking snapshot %q: %w", snapshot, err)
		}
	}
	if spec.VirtualMachine {
		return nil
	}
	if _, err := methods.MarkAsTemplate(context.Background(), s.admin.client, &types.MarkAsTemplate{This: ref}); err != nil {
		return fmt.Errorf("marking it: %w", err)
	}
	return nil
}

func (s *Server) takeSnapshot(vm types.ManagedObjectReference, name string) error {
	started, err := methods.CreateSnapshot_Task(context.Background(), s.admin.client, &types.CreateSnapshot_Task{This: vm, Name: name})
	if err != nil {
		return err
	}
	_, err = s.admin.await(started.Returnval)
	return err
}

// templateConfig says what the template is. Its UUIDs are random: vcsim derives
// them from the file name, which is the same in every datacenter.
func (b *site) templateConfig(spec Template, cluster *simulator.ClusterComputeResource) (*types.VirtualMachineConfigSpec, error) {
	datastore := spec.Datastore
	if datastore == "" && len(cluster.Datastore) > 0 {
		datastore = nameOf(b.server.call(), children(b.server.call(), cluster.Datastore)[0])
	}
	if _, ok := child(b.server.call(), cluster.Datastore, datastore); !ok {
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
		NumCPUs:      int32(cmp.Or(spec.CPUs, 2)), //nolint:gosec // A layout's numbers are small.
		MemoryMB:     int64(cmp.Or(spec.MemoryMiB, 2048)),

		NumCoresPerSocket: types.NewInt32(int32(cmp.Or(spec.CoresPerSocket, 1))), //nolint:gosec // As above.
		Files:             &types.VirtualMachineFileInfo{VmPathName: fmt.Sprintf("[%s]", datastore)},
		DeviceChange:      devices,
		Version:           spec.HardwareVersion,
	}, nil
}

func (b *site) templateDevices(spec Template, cluster *simulator.ClusterComputeResource) ([]types.BaseVirtualDeviceConfigSpec, error) {
	networks := children(b.server.call(), cluster.Network)
	if len(spec.Networks) > 0 {
		networks = nil
		for _, name := range spec.Networks {
			network, ok := child(b.server.call(), cluster.Network, name)
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
		further.Key = int32(-300 - i) //nolint:gosec // A template has few disks.
		further.CapacityInKB = int64(gib) << 20
		further.CapacityInBytes = further.CapacityInKB << 10
		devices = append(devices, further)
	}
	for i, network := range networks {
		card, err := b.card(network)
		if err != nil {
			return nil, err
		}
		card.GetVirtualDevice().Key = int32(-100 - i) //nolint:gosec // A VM has at most ten cards.
		devices = append(devices, card)
	}
	return devices.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
}

func (b *site) card(network mo.Entity) (types.BaseVirtualDevice, error) {
	var backing types.BaseVirtualDeviceBackingInfo
	switch network := network.(type) {
	case *simulator.DistributedVirtualPortgroup:
		dvs, _ := get[*simulator.DistributedVirtualSwitch](b.server, network.Config.DistributedVirtualSwitch)
		backing = &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
			Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: network.Key, SwitchUuid: dvs.Uuid},
		}
	default:
		backing = &types.VirtualEthernetCardNetworkBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: nameOf(b.server.call(), network)},
		}
	}
	var devices object.VirtualDeviceList
	return devices.CreateEthernetCard("vmxnet3", backing)
}
