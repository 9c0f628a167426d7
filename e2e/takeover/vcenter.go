// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	_ "github.com/vmware/govmomi/pbm/simulator" // serves storage policies
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/cluster/simulator" // serves cluster modules
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator" // serves tags
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	// vCenterVersion is the first version with cluster modules; vcsim's default is older.
	vCenterVersion = "7.0.0"
	modulesPath    = rest.Path + "/vcenter/cluster/modules"

	regionCategory, zoneCategory = "k8s-region", "k8s-zone"
	region                       = "region"
	template                     = "machine-image"
	datacenters                  = 3
)

// VCenter is govmomi's unmodified vcsim. Its guests have no addresses, so Run sets addresses when they are powered on: those of their
// metadata, or any.
type VCenter struct {
	model  *simulator.Model
	server *simulator.Server
	client *govmomi.Client
	vms    *view.ContainerView
	user   *url.Userinfo
	rest   *rest.Client
	given  int
}

// NewVCenter starts a vCenter with a template and three datacenters as zones, each with one compute cluster. It listens on an address of
// this machine.
func NewVCenter(ctx context.Context, host string, user *url.Userinfo) (v *VCenter, err error) {
	model := simulator.VPX()
	model.Autostart = false
	model.Datacenter, model.Cluster, model.ClusterHost, model.Host, model.Machine = datacenters, 1, 2, 0, 1
	model.ServiceContent.About.Version = vCenterVersion
	if err := model.Create(); err != nil {
		return nil, fmt.Errorf("creating the inventory: %w", err)
	}
	model.Service.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	model.Service.RegisterEndpoints = true
	model.Service.Listen = &url.URL{Host: net.JoinHostPort(host, "0"), User: user}
	v = &VCenter{model: model, server: model.Service.NewServer(), user: user}
	defer func() {
		if err != nil {
			v.Close()
		}
	}()
	v.server.Config.Handler = oneModuleCallAtATime(v.server.Config.Handler)
	if v.client, err = govmomi.NewClient(ctx, v.server.URL, true); err != nil {
		return nil, fmt.Errorf("logging in: %w", err)
	}
	v.vms, err = view.NewManager(v.client.Client).CreateContainerView(ctx, v.client.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, fmt.Errorf("viewing the virtual machines: %w", err)
	}
	return v, errors.Join(v.makeTemplates(ctx), v.makeTags(ctx))
}

// oneModuleCallAtATime serializes calls to vcsim's cluster modules, which are in unguarded maps.
func oneModuleCallAtATime(next http.Handler) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, modulesPath) {
			mu.Lock()
			defer mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// Close does not wait for requests in progress, unlike the server's own Close: those that wait for updates end only with the process.
func (v *VCenter) Close() {
	_ = v.server.Listener.Close()
	v.model.Remove()
}

// host returns the server as a VSphereCluster names it.
func (v *VCenter) host() string { return v.server.URL.Host }

// makeTemplates turns the virtual machine of each datacenter into a template of the same name.
func (v *VCenter) makeTemplates(ctx context.Context) error {
	machines, err := find.NewFinder(v.client.Client).VirtualMachineList(ctx, "/*/vm/*")
	if err != nil {
		return fmt.Errorf("finding the VMs for templates: %w", err)
	}
	for _, machine := range machines {
		snapshot, err := machine.CreateSnapshot(ctx, "base", "", false, false)
		if err == nil {
			err = snapshot.Wait(ctx)
		}
		if err != nil {
			return fmt.Errorf("creating a snapshot: %w", err)
		}
		renamed, err := machine.Rename(ctx, template)
		if err == nil {
			err = renamed.Wait(ctx)
		}
		if err == nil {
			err = machine.MarkAsTemplate(ctx)
		}
		if err != nil {
			return fmt.Errorf("creating a template: %w", err)
		}
	}
	return nil
}

// makeTags tags every datacenter as the region, and its compute cluster as its zone.
func (v *VCenter) makeTags(ctx context.Context) error {
	v.rest = rest.NewClient(v.client.Client)
	if err := v.rest.Login(ctx, v.user); err != nil {
		return fmt.Errorf("logging in to the tags: %w", err)
	}
	manager := tags.NewManager(v.rest)
	for _, category := range []string{regionCategory, zoneCategory} {
		of := []string{"Datacenter", "ClusterComputeResource"}
		if _, err := manager.CreateCategory(ctx, &tags.Category{Name: category, Cardinality: "SINGLE", AssociableTypes: of}); err != nil {
			return fmt.Errorf("creating tag category %s: %w", category, err)
		}
	}
	regionTag, err := manager.CreateTag(ctx, &tags.Tag{Name: region, CategoryID: regionCategory})
	if err != nil {
		return fmt.Errorf("creating tag %s: %w", region, err)
	}
	finder := find.NewFinder(v.client.Client)
	for i := range datacenters {
		datacenter, err := finder.Datacenter(ctx, datacenterOf(i))
		if err != nil {
			return err
		}
		cluster, err := finder.ClusterComputeResource(ctx, fmt.Sprintf("/%s/host/%s", datacenterOf(i), computeClusterOf(i)))
		if err != nil {
			return err
		}
		zoneTag, err := manager.CreateTag(ctx, &tags.Tag{Name: zoneOf(i), CategoryID: zoneCategory})
		if err != nil {
			return fmt.Errorf("creating tag %s: %w", zoneOf(i), err)
		}
		if err := errors.Join(manager.AttachTag(ctx, regionTag, datacenter), manager.AttachTag(ctx, zoneTag, cluster)); err != nil {
			return fmt.Errorf("attaching the tags of %s: %w", zoneOf(i), err)
		}
	}
	return nil
}

func datacenterOf(i int) string     { return fmt.Sprintf("DC%d", i) }
func computeClusterOf(i int) string { return fmt.Sprintf("DC%d_C0", i) }
func zoneOf(i int) string           { return fmt.Sprintf("zone-%d", i) }

// vm holds the relevant fields of a virtual machine.
type vm struct {
	Name, Reference, UUID, InstanceUUID, Power, Address string
	// Static is the address in its metadata, with the prefix length.
	Static string
}

// machines returns all virtual machines except templates, by name.
func (v *VCenter) machines(ctx context.Context) (found map[string]vm, err error) {
	var all []mo.VirtualMachine
	if err = v.vms.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name", "config", "runtime.powerState", "guest"}, &all); err != nil {
		return nil, fmt.Errorf("reading the virtual machines: %w", err)
	}
	found = map[string]vm{}
	for i := range all {
		machine := &all[i]
		if machine.Config == nil || machine.Config.Template {
			continue
		}
		is := vm{
			Name: machine.Name, Reference: machine.Self.Value, UUID: machine.Config.Uuid, InstanceUUID: machine.Config.InstanceUuid,
			Power: string(machine.Runtime.PowerState),
		}
		if is.Static, err = staticAddress(machine.Config.ExtraConfig); err != nil {
			return nil, fmt.Errorf("reading the metadata of %s: %w", machine.Name, err)
		}
		if machine.Guest != nil {
			is.Address = machine.Guest.IpAddress
		}
		found[machine.Name] = is
	}
	return found, nil
}

// Run sets the address of running guests without one, until the context ends.
func (v *VCenter) Run(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, provider.PollInterval, false, func(ctx context.Context) (bool, error) { return false, v.giveAddresses(ctx) })
	if ctx.Err() != nil {
		return nil //nolint:nilerr // The end of the context is not a failure.
	}
	return err
}

func (v *VCenter) giveAddresses(ctx context.Context) error {
	machines, err := v.machines(ctx)
	if err != nil {
		return err
	}
	for _, machine := range machines {
		if machine.Power != string(types.VirtualMachinePowerStatePoweredOn) || machine.Address != "" {
			continue
		}
		address, _, static := strings.Cut(machine.Static, "/")
		if !static {
			v.given++
			address = fmt.Sprintf("10.10.%d.%d", v.given/200, 10+v.given%200)
		}
		spec := types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
			&types.OptionValue{Key: "SET.guest.ipAddress", Value: address},
			&types.OptionValue{Key: "SET.guest.hostName", Value: machine.Name},
		}}
		reference := types.ManagedObjectReference{Type: "VirtualMachine", Value: machine.Reference}
		task, err := object.NewVirtualMachine(v.client.Client, reference).Reconfigure(ctx, spec)
		if err == nil {
			err = task.Wait(ctx)
		}
		// It may have been deleted in the meantime.
		if err != nil && ctx.Err() == nil && property.DefaultCollector(v.client.Client).RetrieveOne(ctx, reference, []string{"name"}, &mo.VirtualMachine{}) == nil {
			return fmt.Errorf("setting the address of %s: %w", machine.Name, err)
		}
	}
	return nil
}
