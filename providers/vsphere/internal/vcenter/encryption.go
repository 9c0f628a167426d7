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

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// Specification fields named in a LookupError of this package.
const (
	FieldCryptoProfile = "cryptoProfile"
	FieldCryptoKey     = "cryptoKeyID"
)

// providersAge is how long the list of key providers is cached. keysAge is how long a created key is kept for further attempts
// to clone its machine.
const (
	providersAge = time.Minute
	keysAge      = time.Hour
)

// keyCache caches the key providers, and the keys created for machines that do not exist yet: otherwise each attempt to clone
// would leave another key behind.
type keyCache struct {
	api *transport.SOAPClient

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

// newKeyCache returns an empty cache without calling vCenter.
func newKeyCache(api *transport.SOAPClient) *keyCache { return &keyCache{api: api} }

// wantedEncryption holds how to encrypt a machine.
type wantedEncryption struct {
	Machine string // its instance UUID
	Key     string // names a key provider, which creates a key for the machine, or an existing key
	Policy  string // the name of an encryption storage policy
}

func (k *keyCache) known() ([]types.KmipClusterInfo, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.providers, time.Since(k.readAt) < providersAge
}

func (k *keyCache) learn(providers []types.KmipClusterInfo, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.providers, k.readAt = providers, at
}

func (k *keyCache) keyFor(machine, provider string) (types.CryptoKeyId, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	made, ok := k.made[machine]
	return made.id, ok && made.provider == provider && time.Since(made.at) < keysAge
}

func (k *keyCache) keep(machine, provider string, id types.CryptoKeyId) {
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

// Crypto returns the specification that encrypts a machine with the key that wanted names, or nil if it names none. It makes no
// call if wanted names neither key nor policy.
func (k *keyCache) Crypto(ctx context.Context, wanted wantedEncryption) (types.BaseCryptoSpec, error) {
	field, value := FieldCryptoKey, wanted.Key
	if value == "" {
		field, value = FieldCryptoProfile, wanted.Policy
	}
	if value == "" {
		return nil, nil //nolint:nilnil // nothing to encrypt, and nothing wrong
	}
	providers, err := k.keyProviders(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if len(providers) == 0 {
		return nil, &vcerrors.LookupError{Field: field, Value: value, Err: vcerrors.ErrNoKeyProvider, Detail: "remove " + field + ", or add a key provider to vCenter (Configure > Security > Key Providers)"}
	}
	if field == FieldCryptoProfile {
		return nil, nil //nolint:nilnil // vCenter makes a key of its default provider, as the policy wants one
	}
	key, err := k.cryptoKey(ctx, wanted.Machine, value, providers)
	if err != nil {
		return nil, err
	}
	return &types.CryptoSpecEncrypt{CryptoKeyId: key}, nil
}

// keyProviders returns the key providers of vCenter, at most providersAge old.
func (k *keyCache) keyProviders(ctx context.Context) ([]types.KmipClusterInfo, error) {
	manager := k.api.ServiceContent.CryptoManager
	if manager == nil {
		return nil, nil
	}
	if providers, fresh := k.known(); fresh {
		return providers, nil
	}
	began := time.Now()
	var providers []types.KmipClusterInfo
	err := k.api.Call(ctx, "reading key providers", func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.ListKmipServers(ctx, rt, &types.ListKmipServers{This: *manager})
		if err == nil {
			providers = res.Returnval
		}
		return err
	})
	if err == nil {
		k.learn(providers, began)
	}
	return providers, err
}

// cryptoKey returns a key of the provider named value, or else the key named value.
func (k *keyCache) cryptoKey(ctx context.Context, machine, value string, providers []types.KmipClusterInfo) (types.CryptoKeyId, error) {
	at := slices.IndexFunc(providers, func(p types.KmipClusterInfo) bool { return p.ClusterId.Id == value })
	if at < 0 {
		return k.existingKey(ctx, value, providers)
	}
	if providers[at].ManagementType == string(types.KmipClusterInfoKmsManagementTypeNativeProvider) {
		return types.CryptoKeyId{ProviderId: &providers[at].ClusterId}, nil // it creates its keys when they are needed
	}
	if key, ok := k.keyFor(machine, value); ok {
		return key, nil
	}
	return k.newKey(ctx, machine, providers[at].ClusterId)
}

func (k *keyCache) newKey(ctx context.Context, machine string, provider types.KeyProviderId) (types.CryptoKeyId, error) {
	var made types.CryptoKeyResult
	err := k.api.Call(ctx, FieldCryptoKey+": creating a key with key provider "+provider.Id, func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.GenerateKey(ctx, rt, &types.GenerateKey{This: *k.api.ServiceContent.CryptoManager, KeyProvider: &provider})
		if err == nil {
			made = res.Returnval
		}
		return err
	})
	if err != nil {
		return types.CryptoKeyId{}, err
	}
	if !made.Success {
		return types.CryptoKeyId{}, &vcerrors.LookupError{Field: FieldCryptoKey, Value: provider.Id, Err: vcerrors.ErrNoKeyProvider,
			Detail: fmt.Sprintf("the key provider did not create a key: %s; check its connection in vCenter", made.Reason)}
	}
	if made.KeyId.ProviderId == nil {
		made.KeyId.ProviderId = &provider
	}
	k.keep(machine, provider.Id, made.KeyId)
	return made.KeyId, nil
}

func (k *keyCache) existingKey(ctx context.Context, value string, providers []types.KmipClusterInfo) (types.CryptoKeyId, error) {
	var keys []types.CryptoKeyId
	err := k.api.Call(ctx, FieldCryptoKey+": reading keys", func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.ListKeys(ctx, rt, &types.ListKeys{This: *k.api.ServiceContent.CryptoManager})
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
		Detail: "use a key that vCenter has, or one of its key providers: " + strings.Join(names, ", ")}
}
