// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"net/http"
	"net/url"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
)

func (s *Session) newRESTClient(user *url.Userinfo) *transport.RESTClient {
	return transport.NewRESTClient(s.api.Client, user, s.slots, func(next http.RoundTripper) http.RoundTripper {
		return transport.MeterREST(s.opts.bounded(next), s.opts.report(s.server))
	})
}

// AttachTags attaches tags, given by identifier, in one call. It ignores tags that are already attached.
func (s *Session) AttachTags(ctx context.Context, vmRef string, tagIDs []string) error {
	return s.tags.Attach(ctx, inventory.ParseRef("VirtualMachine", vmRef), tagIDs)
}
