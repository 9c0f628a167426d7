// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// build makes the layout's objects through vCenter's own API.
func (s *Server) build(layout Layout) error {
	lightenHosts()
	for _, dc := range layout.Datacenters {
		if err := s.buildDatacenter(dc); err != nil {
			return fmt.Errorf("datacenter %q: %w", dc.Name, err)
		}
	}
	return s.buildTags(layout.Tags)
}

// lightenHosts takes out of vcsim's model of a host what nothing reads and half the time of making one goes into: vcsim
// copies the model by way of XML.
func lightenHosts() {
	esx.HostSystem.Config.Certificate, esx.HostSystem.Config.Firewall = nil, nil
}

// site is a datacenter while it is being built.
type site struct {
	server   *Server
	spec     Datacenter
	object   *simulator.Datacenter
	clusters map[string]*simulator.ClusterComputeResource
}

func (s *Server) buildDatacenter(spec Datacenter) error {
	made, err := methods.CreateDatacenter(context.Background(), s.admin.client, &types.CreateDatacenter{
		This: s.admin.client.ServiceContent.RootFolder, Name: spec.Name,
	})
	if err != nil {
		return fmt.Errorf("creating it: %w", err)
	}
	dc, _ := get[*simulator.Datacenter](s, &made.Returnval)
	b := &site{server: s, spec: spec, object: dc, clusters: map[string]*simulator.ClusterComputeResource{}}
	steps := []func() error{b.folders, b.computeClusters, b.networks, b.datastores, b.templates, b.groups}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *site) folders() error {
	for _, path := range b.spec.Folders {
		parent := b.object.VmFolder
		for _, name := range split(path) {
			folder, _ := get[*simulator.Folder](b.server, &parent)
			if existing, ok := child(b.server.call(), folder.ChildEntity, name); ok {
				parent = existing.Reference()
				continue
			}
			made, err := methods.CreateFolder(context.Background(), b.server.admin.client, &types.CreateFolder{This: parent, Name: name})
			if err != nil {
				return fmt.Errorf("creating folder %q: %w", path, err)
			}
			parent = made.Returnval
		}
	}
	return nil
}

func (b *site) computeClusters() error {
	for _, spec := range b.spec.Clusters {
		made, err := methods.CreateClusterEx(context.Background(), b.server.admin.client, &types.CreateClusterEx{
			This: b.object.HostFolder, Name: spec.Name,
		})
		if err != nil {
			return fmt.Errorf("creating cluster %q: %w", spec.Name, err)
		}
		cluster, _ := get[*simulator.ClusterComputeResource](b.server, &made.Returnval)
		b.clusters[spec.Name] = cluster
		b.ownSummary(*cluster.ResourcePool)
		for _, host := range spec.Hosts {
			if err := b.addHost(cluster, host); err != nil {
				return fmt.Errorf("adding host %q to cluster %q: %w", host, spec.Name, err)
			}
		}
		for _, pool := range spec.Pools {
			if err := b.addPool(*cluster.ResourcePool, pool); err != nil {
				return fmt.Errorf("creating pool %q in cluster %q: %w", pool, spec.Name, err)
			}
		}
	}
	return nil
}

func (b *site) addHost(cluster *simulator.ClusterComputeResource, name string) error {
	started, err := methods.AddHost_Task(context.Background(), b.server.admin.client, &types.AddHost_Task{
		This: cluster.Self, Spec: types.HostConnectSpec{HostName: name}, AsConnected: true,
	})
	if err != nil {
		return err
	}
	_, err = b.server.admin.await(started.Returnval)
	return err
}

func (b *site) addPool(parent types.ManagedObjectReference, path string) error {
	for _, name := range split(path) {
		pool, _ := get[*simulator.ResourcePool](b.server, &parent)
		if existing, ok := child(b.server.call(), pool.ResourcePool.ResourcePool, name); ok {
			parent = existing.Reference()
			continue
		}
		made, err := methods.CreateResourcePool(context.Background(), b.server.admin.client, &types.CreateResourcePool{
			This: parent, Name: name, Spec: types.DefaultResourceConfigSpec(),
		})
		if err != nil {
			return err
		}
		parent = made.Returnval
		b.ownSummary(parent)
	}
	return nil
}

// ownSummary gives a pool a summary of its own. vcsim lets all pools of the process
// share one.
func (b *site) ownSummary(ref types.ManagedObjectReference) {
	pool, _ := get[*simulator.ResourcePool](b.server, &ref)
	summary := *pool.Summary.GetResourcePoolSummary()
	summary.Name = pool.Name
	pool.Summary = &summary
}

// selected returns the clusters of those names, or all.
func (b *site) selected(names []string) ([]*simulator.ClusterComputeResource, error) {
	var out []*simulator.ClusterComputeResource
	for _, spec := range b.spec.Clusters {
		if len(names) == 0 || slices.Contains(names, spec.Name) {
			out = append(out, b.clusters[spec.Name])
		}
	}
	if len(names) > 0 && len(out) != len(names) {
		return nil, fmt.Errorf("clusters %s: not all of them exist", strings.Join(names, ", "))
	}
	return out, nil
}

func (b *site) hosts(clusters []*simulator.ClusterComputeResource) []*simulator.HostSystem {
	var out []*simulator.HostSystem
	for _, cluster := range clusters {
		for _, e := range children(b.server.call(), cluster.Host) {
			out = append(out, e.(*simulator.HostSystem))
		}
	}
	return out
}

func (b *site) datastores() error {
	for _, spec := range b.spec.Datastores {
		clusters, err := b.selected(spec.Clusters)
		if err != nil {
			return fmt.Errorf("datastore %q: %w", spec.Name, err)
		}
		dir, err := os.MkdirTemp(b.server.home(), "datastore-")
		if err != nil {
			return fmt.Errorf("making a folder for datastore %q: %w", spec.Name, err)
		}
		for _, host := range b.hosts(clusters) {
			_, err := methods.CreateLocalDatastore(context.Background(), b.server.admin.client, &types.CreateLocalDatastore{
				This: *host.ConfigManager.DatastoreSystem, Name: spec.Name, Path: dir,
			})
			if err != nil {
				return fmt.Errorf("mounting datastore %q on host %q: %w", spec.Name, host.Name, err)
			}
		}
	}
	return nil
}

// home is the folder of the server's files; Close removes it.
func (s *Server) home() string {
	for _, option := range s.registry.OptionManager().Setting {
		if value := option.GetOptionValue(); value.Key == "vcsim.home" {
			return value.Value.(string)
		}
	}
	return os.TempDir()
}

func (s *Server) buildTags(tags []Tag) error {
	categories := map[string]string{}
	for _, tag := range tags {
		if _, ok := categories[tag.Category]; ok {
			continue
		}
		var id string
		err := s.admin.rest("POST", "/com/vmware/cis/tagging/category", map[string]any{"create_spec": map[string]any{
			"name": tag.Category, "cardinality": "SINGLE", "associable_types": []string{},
		}}, &id)
		if err != nil {
			return fmt.Errorf("creating tag category %q: %w", tag.Category, err)
		}
		categories[tag.Category] = id
	}
	for _, tag := range tags {
		var id string
		err := s.admin.rest("POST", "/com/vmware/cis/tagging/tag", map[string]any{"create_spec": map[string]any{
			"name": tag.Name, "category_id": categories[tag.Category],
		}}, &id)
		if err != nil {
			return fmt.Errorf("creating tag %q: %w", tag.Name, err)
		}
		for _, path := range tag.On {
			if err := s.attach(id, path); err != nil {
				return fmt.Errorf("attaching tag %q: %w", tag.Name, err)
			}
		}
	}
	return nil
}

func (s *Server) attach(tagID, path string) error { return s.associate("attach", tagID, path) }

func (s *Server) associate(action, tagID, path string) error {
	e, err := s.at(path)
	if err != nil {
		return err
	}
	return s.associateRef(action, tagID, e)
}

func (s *Server) associateRef(action, tagID string, obj mo.Reference) error {
	ref := obj.Reference()
	return s.admin.rest("POST", "/com/vmware/cis/tagging/tag-association/id:"+tagID+"?~action="+action,
		map[string]any{"object_id": map[string]any{"type": ref.Type, "id": ref.Value}}, nil)
}
