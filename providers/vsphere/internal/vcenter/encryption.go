// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/storagepolicy"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// Fields of specifications that a LookupError of this file or of the policies names.
const (
	FieldStoragePolicy = storagepolicy.Field
	FieldCryptoProfile = "cryptoProfile"
	FieldCryptoKey     = "cryptoKeyID"
)

// providersAge is how long the list of key providers is believed, and keysAge how long a key that was made is kept for
// further attempts to make the machine that it is for.
const (
	providersAge = time.Minute
	keysAge      = time.Hour
)

// keyring knows the key providers, and the keys that were made for machines that there are not yet: each attempt to clone
// would leave another one behind. Its zero value is ready to use.
type keyring struct {
	mu        sync.Mutex
	providers []types.KmipClusterInfo
	readAt    time.Time
	made      map[string]madeKey // by instance UUID
}

type madeKey struct {
	provider string
	id       types.CryptoKeyId
	at       time.Time
}

func (k *keyring) known() ([]types.KmipClusterInfo, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.providers, time.Since(k.readAt) < providersAge
}

func (k *keyring) learn(providers []types.KmipClusterInfo, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.providers, k.readAt = providers, at
}

func (k *keyring) keyFor(machine, provider string) (types.CryptoKeyId, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	made, ok := k.made[machine]
	return made.id, ok && made.provider == provider && time.Since(made.at) < keysAge
}

func (k *keyring) keep(machine, provider string, id types.CryptoKeyId) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, made := range k.made {
		if time.Since(made.at) >= keysAge {
			delete(k.made, other)
		}
	}
	if k.made == nil {
		k.made = map[string]madeKey{}
	}
	k.made[machine] = madeKey{provider, id, time.Now()}
}

// encrypt has a machine encrypted with the key that its specification names. Nothing is asked of vCenter for one that
// names none.
func (s *Session) encrypt(ctx context.Context, spec hardware.CloneSpec, config *types.VirtualMachineConfigSpec) error {
	field, value := FieldCryptoKey, spec.Encryption.Key
	if value == "" {
		field, value = FieldCryptoProfile, spec.Policies.Encrypting
	}
	if value == "" {
		return nil
	}
	providers, err := s.keyProviders(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	if len(providers) == 0 {
		return &vcerrors.LookupError{Field: field, Value: value, Err: ErrNoKeyProvider, Detail: "remove " + field + ", or add a key provider to vCenter (Configure > Security > Key Providers)"}
	}
	if field == FieldCryptoProfile {
		return nil // vCenter makes a key of its default provider, as the policy wants one
	}
	key, err := s.cryptoKey(ctx, spec.InstanceUUID, value, providers)
	if err != nil {
		return err
	}
	config.Crypto = &types.CryptoSpecEncrypt{CryptoKeyId: key}
	return nil
}

// keyProviders returns those of vCenter, no older than providersAge.
func (s *Session) keyProviders(ctx context.Context) ([]types.KmipClusterInfo, error) {
	manager := s.api.ServiceContent.CryptoManager
	if manager == nil {
		return nil, nil
	}
	if providers, fresh := s.keys.known(); fresh {
		return providers, nil
	}
	began := time.Now()
	var providers []types.KmipClusterInfo
	err := s.api.Call(ctx, "reading key providers", func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.ListKmipServers(ctx, rt, &types.ListKmipServers{This: *manager})
		if err == nil {
			providers = res.Returnval
		}
		return err
	})
	if err == nil {
		s.keys.learn(providers, began)
	}
	return providers, err
}

// cryptoKey returns a key of the provider of this name, else the key of this name.
func (s *Session) cryptoKey(ctx context.Context, machine, value string, providers []types.KmipClusterInfo) (types.CryptoKeyId, error) {
	at := slices.IndexFunc(providers, func(p types.KmipClusterInfo) bool { return p.ClusterId.Id == value })
	if at < 0 {
		return s.existingKey(ctx, value, providers)
	}
	if providers[at].ManagementType == string(types.KmipClusterInfoKmsManagementTypeNativeProvider) {
		return types.CryptoKeyId{ProviderId: &providers[at].ClusterId}, nil // it makes its keys when they are needed
	}
	if key, ok := s.keys.keyFor(machine, value); ok {
		return key, nil
	}
	return s.newKey(ctx, machine, providers[at].ClusterId)
}

func (s *Session) newKey(ctx context.Context, machine string, provider types.KeyProviderId) (types.CryptoKeyId, error) {
	var made types.CryptoKeyResult
	err := s.api.Call(ctx, FieldCryptoKey+": making a key of key provider "+provider.Id, func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.GenerateKey(ctx, rt, &types.GenerateKey{This: *s.api.ServiceContent.CryptoManager, KeyProvider: &provider})
		if err == nil {
			made = res.Returnval
		}
		return err
	})
	if err != nil {
		return types.CryptoKeyId{}, err
	}
	if !made.Success {
		return types.CryptoKeyId{}, &vcerrors.LookupError{Field: FieldCryptoKey, Value: provider.Id, Err: ErrNoKeyProvider,
			Detail: fmt.Sprintf("the key provider makes no key: %s; see to its connection in vCenter", made.Reason)}
	}
	if made.KeyId.ProviderId == nil {
		made.KeyId.ProviderId = &provider
	}
	s.keys.keep(machine, provider.Id, made.KeyId)
	return made.KeyId, nil
}

func (s *Session) existingKey(ctx context.Context, value string, providers []types.KmipClusterInfo) (types.CryptoKeyId, error) {
	var keys []types.CryptoKeyId
	err := s.api.Call(ctx, FieldCryptoKey+": reading keys", func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.ListKeys(ctx, rt, &types.ListKeys{This: *s.api.ServiceContent.CryptoManager})
		if err == nil {
			keys = res.Returnval
		}
		return err
	})
	if err != nil {
		return types.CryptoKeyId{}, err
	}
	for _, key := range keys {
		if key.KeyId == value {
			return key, nil
		}
	}
	names := make([]string, len(providers))
	for i := range providers {
		names[i] = providers[i].ClusterId.Id
	}
	return types.CryptoKeyId{}, &vcerrors.LookupError{Field: FieldCryptoKey, Value: value, Err: vcerrors.ErrNotFound,
		Detail: "name a key that vCenter has, or one of its key providers: " + strings.Join(names, ", ")}
}
