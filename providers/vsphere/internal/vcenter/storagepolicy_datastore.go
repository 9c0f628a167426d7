// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// FieldStoragePolicy is the specification field that names a storage policy.
const FieldStoragePolicy = "storagePolicyName"

// maxIncompatible is the maximum number of incompatible datastores in a message.
const maxIncompatible = 5

// Kept describes what to place on a datastore of a storage policy.
type Kept struct {
	Policy  string // by name
	Machine string // instance UUID
	SizeGiB int64  // of the disks with a known size; it is reserved while several machines start together
}

// DatastoreOf returns the identifier of a storage policy and the reference of a compatible datastore: the one that the
// placement names, or else the one with the most free space among those that a host of the placement can use. It returns a
// LookupError if the named datastore is not compatible, or if there is no compatible one.
func (s *storagePolicies) DatastoreOf(ctx context.Context, placement inventory.Placement, kept Kept) (policy, datastoreRef string, err error) {
	candidates, err := inventory.Datastores(s.index, placement)
	if err != nil {
		return "", "", err
	}
	release, err := s.reading.Acquire(ctx)
	if err != nil {
		return "", "", fmt.Errorf("reading storage policies: %w", err)
	}
	defer release()
	policy, reasons, err := s.compatibility(ctx, kept.Policy, candidates)
	if err != nil {
		return "", "", err
	}
	compatible := slices.DeleteFunc(slices.Clone(candidates), func(r inventory.Ref) bool { return reasons[r] != "" })
	if len(compatible) == 0 {
		return "", "", s.incompatible(placement, kept.Policy, candidates, reasons)
	}
	chosen, err := s.choose(ctx, kept, compatible)
	if err != nil {
		return "", "", err
	}
	return policy, inventory.RefString(chosen), nil
}

// compatibility looks up a policy and checks its compatibility. It looks up the policy again if the cached identifier does not
// have that name any more.
func (s *storagePolicies) compatibility(ctx context.Context, name string, candidates []inventory.Ref) (string, map[inventory.Ref]string, error) {
	id, err := s.identify(ctx, FieldStoragePolicy, name)
	if err != nil {
		return "", nil, err
	}
	reasons, err := s.check(ctx, id, candidates)
	if errors.Is(err, vcerrors.ErrInvalid) || errors.Is(err, vcerrors.ErrNotFound) {
		s.names = nil
		if id, err = s.identify(ctx, FieldStoragePolicy, name); err != nil {
			return "", nil, err
		}
		reasons, err = s.check(ctx, id, candidates)
	}
	return id, reasons, err
}

// incompatible returns the error that explains why no datastore is compatible.
func (s *storagePolicies) incompatible(placement inventory.Placement, policy string, candidates []inventory.Ref, reasons map[inventory.Ref]string) error {
	var why []string
	s.index.RLock()
	for _, candidate := range candidates {
		why = append(why, fmt.Sprintf("%s is %s", s.index.FullPath(candidate), reasons[candidate]))
	}
	s.index.RUnlock()
	slices.Sort(why)
	detail := strings.Join(why[:min(len(why), maxIncompatible)], ", ")
	way := "; change the policy to match a datastore of the machine's hosts, or use another policy"
	if placement.Datastore != "" {
		way = "; remove datastore to have one chosen by the policy, or use another policy"
	}
	return &vcerrors.LookupError{Field: FieldStoragePolicy, Value: policy, Err: vcerrors.ErrInvalid, Detail: "no compatible datastore: " + detail + way}
}

// space caches the free space of datastores. The stream does not report it, as it changes all the time, on every datastore,
// even on those that no machine uses.
type space struct {
	free     map[inventory.Ref]freeSpace
	promised map[string]promise // by instance UUID
}

type freeSpace struct {
	bytes int64
	at    time.Time
}

type promise struct {
	datastore inventory.Ref
	bytes     int64
}

// choose returns the datastore with the most free space, less the space promised to other machines since it was read. A machine
// gets the same datastore for as long as its promise is kept.
func (s *storagePolicies) choose(ctx context.Context, kept Kept, compatible []inventory.Ref) (inventory.Ref, error) {
	if len(compatible) == 1 {
		return compatible[0], nil
	}
	if err := s.measure(ctx, compatible); err != nil {
		return inventory.Ref{}, err
	}
	if before, ok := s.space.promised[kept.Machine]; ok && slices.Contains(compatible, before.datastore) {
		return before.datastore, nil
	}
	left := map[inventory.Ref]int64{}
	for _, datastore := range compatible {
		left[datastore] = s.space.free[datastore].bytes
	}
	for _, promise := range s.space.promised {
		left[promise.datastore] -= promise.bytes
	}
	chosen := slices.MinFunc(compatible, func(a, b inventory.Ref) int {
		return cmp.Or(cmp.Compare(left[b], left[a]), inventory.CompareRefs(a, b))
	})
	s.space.promised[kept.Machine] = promise{chosen, max(kept.SizeGiB, 1) << 30}
	return chosen, nil
}

// measure reads the free space of datastores in one call, unless it is cached.
func (s *storagePolicies) measure(ctx context.Context, datastores []inventory.Ref) error {
	stale := func(datastore inventory.Ref) bool { return time.Since(s.space.free[datastore].at) >= answerAge }
	if !slices.ContainsFunc(datastores, stale) {
		return nil
	}
	began, free := time.Now(), map[inventory.Ref]freeSpace{}
	read, err := s.freeSpace(ctx, datastores)
	if err != nil {
		return err
	}
	for _, datastore := range datastores {
		free[datastore] = freeSpace{read[datastore], began}
	}
	s.space.learn(free)
	return nil
}

// freeSpace reads the free bytes of datastores in one call. Deleted datastores are left out.
func (s *storagePolicies) freeSpace(ctx context.Context, datastores []inventory.Ref) (map[inventory.Ref]int64, error) {
	free, objects := map[inventory.Ref]int64{}, make([]types.ObjectSpec, len(datastores))
	for i := range datastores {
		objects[i] = types.ObjectSpec{Obj: datastores[i]}
	}
	err := s.api.Call(ctx, "reading the free space of datastores", func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.RetrievePropertiesEx(ctx, rt, &types.RetrievePropertiesEx{
			This: s.api.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{{
				PropSet: []types.PropertySpec{{Type: "Datastore", PathSet: []string{"summary.freeSpace"}}}, ObjectSet: objects,
			}},
		})
		if err != nil || res.Returnval == nil {
			return err
		}
		for _, object := range res.Returnval.Objects {
			for _, property := range object.PropSet {
				free[object.Obj] = inventory.As[int64](property.Val)
			}
		}
		return nil
	})
	return free, err
}

// learn caches new measurements. It drops the promises that the new figures may already include.
func (s *space) learn(free map[inventory.Ref]freeSpace) {
	if s.free == nil {
		s.free, s.promised = map[inventory.Ref]freeSpace{}, map[string]promise{}
	}
	maps.DeleteFunc(s.free, func(_ inventory.Ref, f freeSpace) bool { return time.Since(f.at) >= answerAge })
	maps.Copy(s.free, free)
	maps.DeleteFunc(s.promised, func(_ string, p promise) bool {
		_, again := free[p.datastore]
		_, known := s.free[p.datastore]
		return again || !known
	})
}
