// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"fmt"
	"maps"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hostnames caches the hostnames that guest agents report, if they differ from the configured ones. Each guest is queried once.
type hostnames struct {
	harvester Harvester

	mu    sync.Mutex
	byUID map[types.UID]string
}

func newHostnames(h Harvester) *hostnames {
	return &hostnames{harvester: h, byUID: map[types.UID]string{}}
}

// find returns the name of the virtual machine whose guest agent reports this hostname, or "".
func (h *hostnames) find(ctx context.Context, hostname string) (string, error) {
	all, err := h.harvester.Instances(ctx, nil)
	if err != nil {
		return "", err
	}
	h.prune(all)
	found := ""
	for n := range all {
		vmi := &all[n]
		said, err := h.hostnameOf(ctx, vmi)
		switch {
		case err != nil:
			return "", err
		case said != hostname:
		case found != "":
			return "", fmt.Errorf("the guests of virtual machines %s and %s have the same hostname %s: change one of them", found, vmi.Name, hostname)
		default:
			found = vmi.Name
		}
	}
	return found, nil
}

// prune drops guests that no longer run: a restarted one has another UID.
func (h *hostnames) prune(running []kubevirtv1.VirtualMachineInstance) {
	there := map[types.UID]bool{}
	for i := range running {
		there[running[i].UID] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.byUID, func(vmi types.UID, _ string) bool { return !there[vmi] })
}

// hostnameOf returns the hostname of a guest, or "" if it reports none or the account may not query it.
func (h *hostnames) hostnameOf(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) (string, error) {
	h.mu.Lock()
	said, known := h.byUID[vmi.UID]
	h.mu.Unlock()
	if known || !connected(vmi) {
		return said, nil
	}
	said, err := h.harvester.Hostname(ctx, vmi.Name)
	if err == nil && said == "" {
		return "", nil // it may report one later
	}
	if client.IgnoreNotFound(err) != nil && !apierrors.IsForbidden(err) {
		return "", fmt.Errorf("reading the hostname of virtual machine %s from its guest agent: %w", vmi.Name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byUID[vmi.UID] = said
	return said, nil
}

// connected reports whether the guest agent is connected.
func connected(vmi *kubevirtv1.VirtualMachineInstance) bool {
	for _, c := range vmi.Status.Conditions {
		if c.Type == kubevirtv1.VirtualMachineInstanceAgentConnected {
			return c.Status == "True"
		}
	}
	return false
}

// matches reports whether the guest is known to have reported this hostname.
func (h *hostnames) matches(vmi types.UID, hostname string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byUID[vmi] == hostname
}
