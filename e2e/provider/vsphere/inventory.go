// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Inventory is what a vCenter itself says.
type Inventory struct {
	*govmomi.Client

	finder *find.Finder
	user   *url.Userinfo
}

// Connect logs in to the vCenter that variables of cluster templates describe.
func Connect(ctx context.Context, variables map[string]string) (*Inventory, error) {
	address := &url.URL{
		Scheme: "https", Host: variables["VSPHERE_SERVER"], Path: "/sdk",
		User: url.UserPassword(variables["VSPHERE_USERNAME"], variables["VSPHERE_PASSWORD"]),
	}
	client, err := govmomi.NewClient(ctx, address, true)
	if err != nil {
		return nil, err
	}
	return &Inventory{Client: client, finder: find.NewFinder(client.Client), user: address.User}, nil
}

// clusterOf tells the compute cluster of each virtual machine whose name has a prefix.
func (v *Inventory) clusterOf(ctx context.Context, prefix string) (map[string]string, error) {
	var machines []mo.VirtualMachine
	var hosts []mo.HostSystem
	var clusters []mo.ComputeResource
	err := errors.Join(
		v.All(ctx, "VirtualMachine", []string{"name", "runtime.host"}, &machines),
		v.All(ctx, "HostSystem", []string{"parent"}, &hosts),
		v.All(ctx, "ComputeResource", []string{"name"}, &clusters),
	)
	names := map[types.ManagedObjectReference]string{}
	for _, cluster := range clusters {
		names[cluster.Self] = cluster.Name
	}
	of := map[types.ManagedObjectReference]string{}
	for _, host := range hosts {
		of[host.Self] = names[*host.Parent]
	}
	places := map[string]string{}
	for _, machine := range machines {
		if strings.HasPrefix(machine.Name, prefix) {
			places[machine.Name] = of[*machine.Runtime.Host]
		}
	}
	return places, err
}

// virtualMachine is all that tells a virtual machine from another, and whether it was switched off and on.
type virtualMachine struct {
	Ref, BIOSUUID, InstanceUUID, Power string
}

// machines are the virtual machines whose names have a prefix.
func (v *Inventory) machines(ctx context.Context, prefix string) (map[string]any, error) {
	var all []mo.VirtualMachine
	err := v.All(ctx, "VirtualMachine", []string{"name", "config.uuid", "config.instanceUuid", "runtime.powerState"}, &all)
	found := map[string]any{}
	for i := range all {
		if m := &all[i]; strings.HasPrefix(m.Name, prefix) {
			found[m.Name] = virtualMachine{m.Self.Value, m.Config.Uuid, m.Config.InstanceUuid, string(m.Runtime.PowerState)}
		}
	}
	return found, err
}

// All reads properties of all objects of a kind.
func (v *Inventory) All(ctx context.Context, kind string, properties []string, into any) error {
	container, err := view.NewManager(v.Client.Client).CreateContainerView(ctx, v.ServiceContent.RootFolder, []string{kind}, true)
	if err != nil {
		return err
	}
	defer func() { _ = container.Destroy(ctx) }()
	return container.Retrieve(ctx, []string{kind}, properties, into)
}

// Tagging logs in to the service of tags, which is another than the inventory's.
func (v *Inventory) Tagging(ctx context.Context) (*tags.Manager, error) {
	client := rest.NewClient(v.Client.Client)
	return tags.NewManager(client), client.Login(ctx, v.user)
}

// setMaintenance puts the hosts of a compute cluster into maintenance, or takes them out. Their virtual machines run on.
func (v *Inventory) setMaintenance(ctx context.Context, cluster string, on bool) error {
	hosts, err := v.finder.HostSystemList(ctx, "/*/host/"+cluster+"/*")
	if err != nil {
		return err
	}
	for _, host := range hosts {
		change := host.ExitMaintenanceMode
		if on {
			change = func(ctx context.Context, timeout int32) (*object.Task, error) {
				return host.EnterMaintenanceMode(ctx, timeout, false, nil)
			}
		}
		task, err := change(ctx, 0)
		if err != nil {
			return err
		}
		if err := task.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}
