//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"

	_ "github.com/vmware/govmomi/pbm/simulator" // serves storage policies
	"github.com/vmware/govmomi/property"
	_ "github.com/vmware/govmomi/vapi/cluster/simulator" // serves cluster modules
	_ "github.com/vmware/govmomi/vapi/simulator"         // serves tags
	"github.com/vmware/govmomi/vim25/mo"
)

// agents returns the user agents of all sessions.
func (v *VCenter) agents(ctx context.Context) ([]string, error) {
	var manager mo.SessionManager
	if err := property.DefaultCollector(v.client.Client).RetrieveOne(ctx, *v.client.ServiceContent.SessionManager, []string{"sessionList"}, &manager); err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	agents := make([]string, 0, len(manager.SessionList))
	for i := range manager.SessionList {
		agents = append(agents, manager.SessionList[i].UserAgent)
	}
	return agents, nil
}
