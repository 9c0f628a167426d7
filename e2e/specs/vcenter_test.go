//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"net/url"
	"strings"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// vcenter looks at the simulated vCenter, and breaks it, as an administrator with a client of his own would.
type vcenter struct {
	*govmomi.Client
	finder *find.Finder
}

func connect(ctx context.Context) vcenter { return connectTo(ctx, environment.Variables()) }

// connectTo connects to the simulated vCenter that variables of cluster templates describe.
func connectTo(ctx context.Context, variables map[string]string) vcenter {
	address := &url.URL{
		Scheme: "https", Host: variables["VSPHERE_SERVER"], Path: "/sdk",
		User: url.UserPassword(variables["VSPHERE_USERNAME"], variables["VSPHERE_PASSWORD"]),
	}
	client, err := govmomi.NewClient(ctx, address, true)
	Expect(err).NotTo(HaveOccurred())
	return vcenter{Client: client, finder: find.NewFinder(client.Client)}
}

// clusterOf tells in which compute cluster each virtual machine is whose name begins with the prefix.
func (v vcenter) clusterOf(ctx context.Context, prefix string) map[string]string {
	var machines []mo.VirtualMachine
	v.all(ctx, "VirtualMachine", []string{"name", "runtime.host"}, &machines)
	var hosts []mo.HostSystem
	v.all(ctx, "HostSystem", []string{"parent"}, &hosts)
	var clusters []mo.ComputeResource
	v.all(ctx, "ComputeResource", []string{"name"}, &clusters)

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
	return places
}

// virtualMachine is what tells a virtual machine from another of the same name.
type virtualMachine struct {
	Ref, BIOSUUID, InstanceUUID, Power string
}

// machines are the virtual machines whose name begins with the prefix.
func (v vcenter) machines(ctx context.Context, prefix string) map[string]any {
	var all []mo.VirtualMachine
	v.all(ctx, "VirtualMachine", []string{"name", "config.uuid", "config.instanceUuid", "runtime.powerState"}, &all)
	found := map[string]any{}
	for i := range all {
		if m := &all[i]; strings.HasPrefix(m.Name, prefix) {
			found[m.Name] = virtualMachine{m.Self.Value, m.Config.Uuid, m.Config.InstanceUuid, string(m.Runtime.PowerState)}
		}
	}
	return found
}

// all reads properties of all objects of a kind.
func (v vcenter) all(ctx context.Context, kind string, properties []string, into any) {
	container, err := view.NewManager(v.Client.Client).CreateContainerView(ctx, v.ServiceContent.RootFolder, []string{kind}, true)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = container.Destroy(ctx) }()
	Expect(container.Retrieve(ctx, []string{kind}, properties, into)).To(Succeed())
}

// setMaintenance puts all hosts of a compute cluster into maintenance mode, or takes them out of it. Machines on them stay.
func (v vcenter) setMaintenance(ctx context.Context, cluster string, on bool) {
	hosts, err := v.finder.HostSystemList(ctx, "/*/host/"+cluster+"/*")
	Expect(err).NotTo(HaveOccurred())
	for _, host := range hosts {
		change := host.ExitMaintenanceMode
		if on {
			change = func(ctx context.Context, timeout int32) (*object.Task, error) {
				return host.EnterMaintenanceMode(ctx, timeout, false, nil)
			}
		}
		task, err := change(ctx, 0)
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())
	}
}
