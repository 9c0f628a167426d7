//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

const (
	// vcenterTimeout bounds the start of a simulated vCenter, and lastOfVCenter is the last variable that it prints.
	vcenterTimeout = 30 * time.Second
	lastOfVCenter  = "VSPHERE_ZONE_C_NETWORK"
)

// vsphereObserver observes clusters on a vCenter.
type vsphereObserver struct{ outside }

// Prepare does nothing, because zones are cluster-scoped.
func (vsphereObserver) Prepare(context.Context, string) (map[string]string, error) { return nil, nil }

// SetDomains labels the zones for the cluster, and makes the cluster select them. Zones are cluster-scoped, so other clusters use them
// too.
func (o vsphereObserver) SetDomains(ctx context.Context, key client.ObjectKey, names []string) error {
	label := "of-cluster/" + key.Name
	for _, name := range infra.Domains {
		zone := &infrav1.VSphereDeploymentZone{}
		if err := o.Client().Get(ctx, client.ObjectKey{Name: name}, zone); err != nil {
			return err
		}
		before := zone.DeepCopy()
		delete(zone.Labels, label)
		if slices.Contains(names, name) {
			metav1.SetMetaDataLabel(&zone.ObjectMeta, label, "")
		}
		if err := o.Client().Patch(ctx, zone, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	cluster := &infrav1.VSphereCluster{}
	if err := o.Client().Get(ctx, key, cluster); err != nil {
		return err
	}
	cluster.Spec.FailureDomainSelector = &metav1.LabelSelector{MatchLabels: map[string]string{label: ""}}
	return o.Client().Update(ctx, cluster)
}

func (o vsphereObserver) Places(ctx context.Context, cluster string) (map[string]string, error) {
	inventory, err := connectInventory(ctx, o.Variables())
	if err != nil {
		return nil, err
	}
	return inventory.clusterOf(ctx, cluster)
}

func (o vsphereObserver) Machines(ctx context.Context, cluster string) (map[string]any, error) {
	inventory, err := connectInventory(ctx, o.Variables())
	if err != nil {
		return nil, err
	}
	return inventory.machines(ctx, cluster)
}

// SetBroken puts all hosts of a zone into maintenance mode.
func (o vsphereObserver) SetBroken(ctx context.Context, domain string, broken bool) error {
	inventory, err := connectInventory(ctx, o.Variables())
	if err != nil {
		return err
	}
	if err := inventory.setMaintenance(ctx, domain, broken); err != nil {
		return fmt.Errorf("maintenance of %s: %w", domain, err)
	}
	return nil
}

// inventory gives access to a vCenter itself.
type inventory struct {
	*govmomi.Client

	finder *find.Finder
	user   *url.Userinfo
}

// connectInventory logs in to the vCenter in variables of cluster templates.
func connectInventory(ctx context.Context, variables map[string]string) (*inventory, error) {
	address := &url.URL{
		Scheme: "https", Host: variables["VSPHERE_SERVER"], Path: "/sdk",
		User: url.UserPassword(variables["VSPHERE_USERNAME"], variables["VSPHERE_PASSWORD"]),
	}
	client, err := govmomi.NewClient(ctx, address, true)
	if err != nil {
		return nil, err
	}
	return &inventory{Client: client, finder: find.NewFinder(client.Client), user: address.User}, nil
}

// clusterOf returns the compute cluster of each virtual machine whose name has a prefix.
func (v *inventory) clusterOf(ctx context.Context, prefix string) (map[string]string, error) {
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

// virtualMachine holds the properties that identify a virtual machine, and its power state.
type virtualMachine struct {
	Ref, BIOSUUID, InstanceUUID, Power string
}

// machines returns the virtual machines whose names have a prefix.
func (v *inventory) machines(ctx context.Context, prefix string) (map[string]any, error) {
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
func (v *inventory) All(ctx context.Context, kind string, properties []string, into any) error {
	container, err := view.NewManager(v.Client.Client).CreateContainerView(ctx, v.ServiceContent.RootFolder, []string{kind}, true)
	if err != nil {
		return err
	}
	defer func() { _ = container.Destroy(ctx) }()
	return container.Retrieve(ctx, []string{kind}, properties, into)
}

// Tagging logs in to the tagging service, which is separate from the inventory.
func (v *inventory) Tagging(ctx context.Context) (*tags.Manager, error) {
	client := rest.NewClient(v.Client.Client)
	return tags.NewManager(client), client.Login(ctx, v.user)
}

// setMaintenance puts the hosts of a compute cluster into maintenance mode, or takes them out of it. Their virtual machines keep running.
func (v *inventory) setMaintenance(ctx context.Context, cluster string, on bool) error {
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

// addVCenter starts another simulated vCenter with a layout of cmd/vcsim, and returns its variables of cluster templates. It runs until
// remove is called, or the environment is removed.
func addVCenter(ctx context.Context, k provider.Kind, layout string) (variables map[string]string, remove func(context.Context) error, err error) {
	simulator := infra.Simulator()
	name := k.Container(simulator) + "-" + layout
	remove = func(ctx context.Context) error { return k.Docker.Remove(ctx, name) }
	if err := remove(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := k.Docker.Run(ctx, "run", "--detach", "--name", name, "--network", k.Network, "--label", k.Label,
		"--read-only", "--tmpfs", "/tmp", simulator.Image(false), "--layout", layout); err != nil {
		return nil, nil, err
	}
	variables, err = provider.WaitForVariables(ctx, k.Docker, name, vcenterTimeout, lastOfVCenter)
	return variables, remove, err
}
