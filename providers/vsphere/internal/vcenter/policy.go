// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"

	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/lookup"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/storagepolicy"
)

// newPolicyService prepares the service, which has an endpoint of its own and goes by the session of the SOAP API.
func (s *Session) newPolicyService() *storagepolicy.Service {
	client := s.api.NewServiceClient(pbm.Path, pbm.Namespace)
	client.UserAgent = s.opts.UserAgent
	client.Cookie = s.api.SessionCookie
	return storagepolicy.New(&meter{client, s.server, s.opts}, s.slots, s.index, s.freeSpace)
}

// Policy returns the identifier of the storage policy that a field names.
func (s *Session) Policy(ctx context.Context, field, name string) (string, error) {
	return s.policies.Policy(ctx, field, name)
}

// DatastoreOf returns the identifier of a storage policy and the reference of a datastore that the policy has: the one
// that the placement names, or of those that a host of the placement can use the one with the most free space. A datastore
// that is named and does not fit, and there being none, is a LookupError.
func (s *Session) DatastoreOf(ctx context.Context, placement lookup.Placement, kept storagepolicy.Kept) (policy, datastoreRef string, err error) {
	return s.policies.DatastoreOf(ctx, placement, kept)
}

// freeSpace reads how many bytes are free on datastores in one call; none of one that has gone. The stream does not report it: it changes all the
// time, on every datastore, for those that nobody asks about too.
func (s *Session) freeSpace(ctx context.Context, datastores []inventory.Ref) (map[inventory.Ref]int64, error) {
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
