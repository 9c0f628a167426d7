// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Spread verifies that the control plane is spread as evenly as possible and that every machine is in its requested domain, and returns
// what is not yet reported. Workers that the provider spreads request no domain, and must be spread as evenly.
func Spread(now Snapshot, system string, spreads bool) (missing string, err error) {
	if uneven := Level(now, RoleControlPlane); uneven != "" {
		return "", &provider.Violation{Rule: system + " shows an uneven control plane: " + uneven}
	}
	for _, m := range now.Machines {
		if spreads && m.Role != RoleControlPlane && m.Role != "" {
			if uneven := Level(now, m.Role); uneven != "" {
				return "", &provider.Violation{Rule: system + " shows uneven workers: " + uneven}
			}
		} else if m.Domain != m.Asked {
			return "", &provider.Violation{Rule: fmt.Sprintf("machine %s is assigned to %q but %s shows it in %q", m.Name, m.Asked, system, m.Domain)}
		}
		if m.Reported != m.Domain {
			missing = fmt.Sprintf("Machine %s reports failure domain %q but is in %q", m.Name, m.Reported, m.Domain)
		}
	}
	return missing, nil
}

// Complete returns what is missing until all machines are ready, except those in the domain down, unless that is "", and those that were
// stopped there and must return.
func Complete(now Snapshot, down string, workers int) (missing string) {
	ready := 0
	for _, m := range now.Machines {
		if (m.Ready || down != "" && m.IsOf(down)) && !m.Deleting {
			ready++
		}
	}
	if n := len(now.Machines); n != ControlPlanes+workers || ready != n {
		return fmt.Sprintf("%d of %d machines are ready, %d are expected", ready, n, ControlPlanes+workers)
	}
	if n := len(now.In(RoleControlPlane, "")); n != ControlPlanes {
		return fmt.Sprintf("%d control-plane machines, want %d", n, ControlPlanes)
	}
	return ""
}

// Replaced returns what is missing until the failed machine is deleted. It returns an error if a new machine is in its domain or requests
// it.
func Replaced(now Snapshot, failed Machine, known map[string]bool) (missing string, err error) {
	for _, m := range now.Machines {
		if !known[m.Name] && (m.Domain == failed.Domain || m.Asked == failed.Domain) {
			return "", &provider.Violation{Rule: fmt.Sprintf("machine %s was created in %s, which is broken", m.Name, failed.Domain)}
		}
		if m.Name == failed.Name {
			missing = "Machine " + m.Name + " still exists"
		}
	}
	return missing, nil
}

// Lost returns what is missing until all machines in a domain are reported as not ready. It returns an error if another machine is not
// ready, or another domain does not receive machines.
func Lost(now Snapshot, domain string) (missing string, err error) {
	for _, d := range now.Domains {
		if d.Name != domain && (d.State != string(faultlinev1.DomainActive) || !d.ControlPlane) {
			return "", &provider.Violation{Rule: fmt.Sprintf("failure domain %s is %s, but only %s is lost", d.Name, d.Words(), domain)}
		}
	}
	for _, m := range now.Machines {
		switch {
		case m.IsOf(domain) && m.Ready:
			missing = "machine " + m.Name + " is still reported as ready"
		case !m.IsOf(domain) && !m.Ready:
			return "", &provider.Violation{Rule: fmt.Sprintf("machine %s is %s, but only %s is lost", m.Name, m.Words(), domain)}
		}
	}
	return missing, nil
}

// Waiting returns the machine that replaces a deleted one, and verifies that the infrastructure has nothing for the replacement.
func Waiting(now Snapshot, gone Machine) (replacement, missing string, err error) {
	for _, m := range now.Machines {
		switch {
		case m.Name == gone.Name:
			return "", "Machine " + m.Name + " still exists", nil
		case m.Role != gone.Role:
		case m.Domain != "":
			return "", "", &provider.Violation{Rule: fmt.Sprintf("machine %s was created in %s while %s is broken", m.Name, m.Domain, gone.Domain)}
		case m.Asked == gone.Domain:
			replacement = m.Name
		}
	}
	if replacement == "" {
		missing = "no replacement found for Machine " + gone.Name
	}
	return replacement, missing, nil
}

// WaitsFor returns the Machine's infrastructure condition while it waits for a domain, or "".
func WaitsFor(domain string, conditions []metav1.Condition) string {
	for _, c := range conditions {
		if c.Type == clusterv1.MachineInfrastructureReadyCondition && c.Status != metav1.ConditionTrue && strings.Contains(c.Message, domain) {
			return fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

// WorkerIn returns a worker in a domain.
func WorkerIn(now Snapshot, domain string) (Machine, error) {
	for _, m := range now.Machines {
		if m.IsOf(domain) && m.Role != RoleControlPlane && m.Role != "" {
			m.Domain = domain
			return m, nil
		}
	}
	return Machine{}, fmt.Errorf("no worker found in %s", domain)
}

// Moving verifies that workers are moved one at a time, and returns what is missing until all of them are ready.
func Moving(now Snapshot, role string, wanted int) (missing string, err error) {
	ready, going := 0, 0
	for _, m := range now.In(role, "") {
		switch {
		case m.Deleting:
			going++
		case m.Ready:
			ready++
		}
	}
	if going > 1 {
		return "", &provider.Violation{Rule: fmt.Sprintf("%d machines of %s are being deleted at once", going, role)}
	}
	if ready != wanted || going > 0 {
		return fmt.Sprintf("%d of %d machines of %s are ready", ready, wanted, role), nil
	}
	return "", nil
}

// LevelKeys returns what is missing until machines are spread evenly over the logical failure domains of a class.
func LevelKeys(keys map[string]string, class string, number int) (missing string) {
	counts := map[string]int{}
	for i := range number {
		counts[fmt.Sprintf("%s-%d", class, i)] = 0
	}
	for machine, key := range keys {
		if _, wanted := counts[key]; !wanted {
			return fmt.Sprintf("machine %s is in logical failure domain %q, which is not one of the %d of %s", machine, key, number, class)
		}
		counts[key]++
	}
	return uneven(counts, "logical failure domain", class)
}

// NewMachines counts the new machines.
func NewMachines(before, now map[string]string) int {
	fresh := 0
	for machine := range now {
		if _, known := before[machine]; !known {
			fresh++
		}
	}
	return fresh
}

// TooManyReplaced returns a text if more machines than necessary, or the wrong ones, were replaced to spread a class over its logical
// failure domains: a machine keeps its logical domain. It returns "" if a machine had none.
func TooManyReplaced(before, now map[string]string, class string, number int) string {
	counts, gone := map[string]int{}, 0
	for i := range number {
		counts[fmt.Sprintf("%s-%d", class, i)] = 0
	}
	for _, key := range before {
		switch _, stays := counts[key]; {
		case key == "":
			return ""
		case stays:
			counts[key]++
		default:
			gone++
		}
	}
	tooMany, missing := gone, 0
	for _, n := range counts {
		tooMany += max(0, n-(len(before)+number-1)/number)
		missing += max(0, len(before)/number-n)
	}
	if fewest, fresh := max(tooMany, missing), NewMachines(before, now); fresh != fewest {
		return fmt.Sprintf("%d machines of %s were replaced, but %d suffice", fresh, class, fewest)
	}
	return ""
}

// Surging verifies that a control plane is moved one machine at a time, the new one first.
func Surging(now Snapshot, system string) error {
	ready := 0
	machines := now.In(RoleControlPlane, "")
	for _, m := range machines {
		if m.Ready && !m.Deleting {
			ready++
		}
	}
	if len(machines) > ControlPlanes+1 {
		return &provider.Violation{Rule: fmt.Sprintf("%s has %d control-plane machines: more than one is moving", system, len(machines))}
	}
	if quorum := ControlPlanes/2 + 1; ready < quorum {
		return &provider.Violation{Rule: fmt.Sprintf("%d control-plane machines are ready: less than the quorum of %d", ready, quorum)}
	}
	return nil
}

// Level returns what is missing until the machines of a role are spread evenly over the domains that receive machines.
func Level(now Snapshot, role string) (missing string) {
	placed, counts := 0, map[string]int{}
	for _, domain := range now.Domains {
		if domain.State == string(faultlinev1.DomainActive) {
			counts[domain.Name] = len(now.In(role, domain.Name))
			placed += counts[domain.Name]
		}
	}
	if all := len(now.In(role, "")); placed != all {
		return fmt.Sprintf("%d of %d machines of %s are outside the failure domains that receive machines", all-placed, all, role)
	}
	return uneven(counts, "failure domain", role)
}

// uneven describes numbers of machines that differ by more than one; "" if they do not.
func uneven(counts map[string]int, domain, role string) string {
	numbers := slices.Sorted(maps.Values(counts))
	if len(numbers) == 0 || numbers[len(numbers)-1]-numbers[0] <= 1 {
		return ""
	}
	return fmt.Sprintf("one %s has %d machines of %s, another %d", domain, numbers[len(numbers)-1], role, numbers[0])
}
