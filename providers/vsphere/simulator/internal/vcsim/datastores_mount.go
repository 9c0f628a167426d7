// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"fmt"
	"os"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// Mount creates a datastore that the hosts mount.
func (d *Datastores) Mount(admin *AdminClient, name string, hosts []*simulator.HostSystem) error {
	dir, err := os.MkdirTemp(d.home(), "datastore-")
	if err != nil {
		return fmt.Errorf("creating a folder for datastore %q: %w", name, err)
	}
	for _, host := range hosts {
		_, err := methods.CreateLocalDatastore(context.Background(), admin.Client, &types.CreateLocalDatastore{
			This: *host.ConfigManager.DatastoreSystem, Name: name, Path: dir,
		})
		if err != nil {
			return fmt.Errorf("mounting datastore %q on host %q: %w", name, host.Name, err)
		}
	}
	return nil
}

// home returns the folder of the server's files, which Close deletes.
func (d *Datastores) home() string {
	for _, option := range d.inventory.Registry.OptionManager().Setting {
		if value := option.GetOptionValue(); value.Key == "vcsim.home" {
			return value.Value.(string)
		}
	}
	return os.TempDir()
}
