// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// Keys manages the keys that encrypt virtual machines.
type Keys struct {
	inventory *Inventory
	admin     *AdminClient
}

// NewKeys returns the Keys of vcsim's key providers.
func NewKeys(i *Inventory, admin *AdminClient) *Keys { return &Keys{inventory: i, admin: admin} }

// AddProvider registers a key provider, the first one as the default. A native provider generates its keys itself.
func (k *Keys) AddProvider(name string, native bool) error {
	kind := types.KmipClusterInfoKmsManagementTypeUnknown
	if native {
		kind = types.KmipClusterInfoKmsManagementTypeNativeProvider
	}
	_, err := methods.RegisterKmsCluster(context.Background(), k.admin.Client, &types.RegisterKmsCluster{
		This: k.inventory.Registry.CryptoManager().Self, ClusterId: types.KeyProviderId{Id: name}, ManagementType: string(kind),
	})
	if err != nil {
		return fmt.Errorf("registering key provider %s: %w", name, err)
	}
	return nil
}

// Generated returns the keys that a key provider has generated, sorted.
func (k *Keys) Generated(provider string) []string {
	res, err := methods.ListKeys(context.Background(), k.admin.Client, &types.ListKeys{This: k.inventory.Registry.CryptoManager().Self})
	if err != nil {
		return nil
	}
	keys := map[string]bool{}
	for _, key := range res.Returnval {
		if key.ProviderId != nil && key.ProviderId.Id == provider {
			keys[key.KeyId] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// NoProvider reports whether no key provider is registered.
func (k *Keys) NoProvider() bool { return len(k.providers()) == 0 }

// Has reports whether a provider has generated the key, or generates it on demand.
func (k *Keys) Has(key types.CryptoKeyId) bool {
	if key.ProviderId == nil {
		return false
	}
	for _, known := range k.providers() {
		native := known.ManagementType == string(types.KmipClusterInfoKmsManagementTypeNativeProvider)
		if known.ClusterId.Id == key.ProviderId.Id && (native || slices.Contains(k.Generated(key.ProviderId.Id), key.KeyId)) {
			return true
		}
	}
	return false
}

func (k *Keys) providers() []types.KmipClusterInfo {
	manager := k.inventory.Registry.CryptoManager()
	var providers []types.KmipClusterInfo
	k.inventory.WithLock(manager, func() { providers = slices.Clone(manager.KmipServers) })
	return providers
}
