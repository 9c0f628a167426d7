// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"

	"github.com/faultline-io/faultline/e2e/provider"
)

// spread checks that the domains have control-plane machines as evenly as can be and that every machine is where it was asked to
// be, and waits for that to be reported. Workers that the provider spreads are asked to be nowhere, and spread as evenly.
func spread(now Snapshot, system string, spreads bool) (missing string, err error) {
	if uneven := level(now, roleControlPlane); uneven != "" {
		return "", &provider.Violation{Rule: system + " has the control plane unevenly: " + uneven}
	}
	for _, m := range now.Machines {
		if spreads && m.Role != roleControlPlane && m.Role != "" {
			if uneven := level(now, m.Role); uneven != "" {
				return "", &provider.Violation{Rule: system + " has the workers unevenly: " + uneven}
			}
		} else if m.Domain != m.Asked {
			return "", &provider.Violation{Rule: fmt.Sprintf("machine %s was asked to be in %q and %s has it in %q", m.Name, m.Asked, system, m.Domain)}
		}
		if m.Reported != m.Domain {
			missing = fmt.Sprintf("Machine %s reports failure domain %q; it is in %q", m.Name, m.Reported, m.Domain)
		}
	}
	return missing, nil
}

// complete waits for all machines to be ready, except for those in the domain called
// down, unless that is "", and those that were stopped there and are to be there again.
func complete(now Snapshot, down string, workers int) (missing string) {
	ready := 0
	for _, m := range now.Machines {
		if (m.Ready || down != "" && m.isOf(down)) && !m.Deleting {
			ready++
		}
	}
	if n := len(now.Machines); n != controlPlanes+workers || ready != n {
		return fmt.Sprintf("%d of %d machines are ready, of %d that there should be", ready, n, controlPlanes+workers)
	}
	if n := len(now.in(roleControlPlane, "")); n != controlPlanes {
		return fmt.Sprintf("%d control-plane machines, not %d", n, controlPlanes)
	}
	return ""
}

// replaced waits for the failed to be gone, and checks that no machine that was not
// known before is in its domain or meant for it.
func replaced(now Snapshot, failed Machine, known map[string]bool) (missing string, err error) {
	for _, m := range now.Machines {
		if !known[m.Name] && (m.Domain == failed.Domain || m.Asked == failed.Domain) {
			return "", &provider.Violation{Rule: fmt.Sprintf("machine %s was put into %s, which is broken", m.Name, failed.Domain)}
		}
		if m.Name == failed.Name {
			missing = "Machine " + m.Name + " is still there"
		}
	}
	return missing, nil
}
