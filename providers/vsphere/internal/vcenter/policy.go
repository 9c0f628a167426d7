// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"

	"github.com/vmware/govmomi/pbm"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
)

// newPolicyService returns a client of the storage policy service, which has its own endpoint and uses the session of the SOAP
// API.
func (s *Session) newPolicyService() *storagePolicies {
	client := s.api.NewServiceClient(pbm.Path, pbm.Namespace)
	client.UserAgent = s.opts.UserAgent
	client.Transport = s.opts.bounded(client.Transport)
	client.Cookie = s.api.SessionCookie
	return newStoragePolicies(transport.MeterSOAP(client, s.opts.report(s.server)), s.slots, s.index, s.api)
}

// Policy returns the identifier of the storage policy that a field names.
func (s *Session) Policy(ctx context.Context, field, name string) (string, error) {
	return s.policies.Policy(ctx, field, name)
}

// DatastoreOf returns the identifier of a storage policy and the reference of a compatible datastore: the one that the
// placement names, or else the one with the most free space among those that a host of the placement can use. It returns a
// LookupError if the named datastore is not compatible, or if there is no compatible one.
func (s *Session) DatastoreOf(ctx context.Context, placement inventory.Placement, kept Kept) (policy, datastoreRef string, err error) {
	return s.policies.DatastoreOf(ctx, placement, kept)
}
