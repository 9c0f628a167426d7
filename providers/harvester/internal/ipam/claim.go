// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

// Harvester gives access to the pools of a cluster. Equal values must mean the same cluster.
type Harvester interface {
	// Get reads from a cache that may be stale, Live from the API server.
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
	Live() client.Reader
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error
}

// Claimed is an address and its pool.
type Claimed struct {
	allocation.Address
	Pool string
}

// NoAddressError reports why none of the pools has allocated an address.
type NoAddressError struct {
	// Exhausted is set if a pool has no free address, OtherNetwork if a pool is for other networks, Missing if a pool does not exist.
	Exhausted, OtherNetwork, Missing bool
	// Pools has the reason for each pool.
	Pools []string
}

// Error returns a message for the user.
func (e *NoAddressError) Error() string { return strings.Join(e.Pools, "; ") }

// Claim allocates an address to the holder from the first pool that has one for a machine on the networks. It returns the same address if
// the holder already has one in any of the pools. The error is a NoAddressError if the user must act.
func (c *Claimer) Claim(ctx context.Context, h Harvester, pools []string, id string, networks []string) (Claimed, error) {
	if held, err := Held(ctx, h, pools, id); err != nil || held.Pool != "" {
		return held, err
	}
	none := &NoAddressError{}
	for _, name := range pools {
		claimed := Claimed{Pool: name}
		err := c.change(ctx, h, name, func(p *allocation.Pool) (changed bool, err error) {
			if !ForNetworks(p.Network(), networks) {
				return false, &otherNetworkError{network: p.Network(), networks: networks}
			}
			claimed.Address, changed, err = p.Get(id)
			return changed, err
		})
		if err == nil {
			return claimed, nil
		}
		if !none.note(name, err) {
			return Claimed{}, fmt.Errorf("claiming an address of IPPool %s: %w", name, err)
		}
	}
	return Claimed{}, none
}

// Release releases the holder's addresses in the pools. It ignores addresses of other holders and deleted pools.
func (c *Claimer) Release(ctx context.Context, h Harvester, pools []string, id string) error {
	for _, name := range pools {
		err := c.change(ctx, h, name, func(p *allocation.Pool) (bool, error) { return p.Release(id), nil })
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("releasing the address in IPPool %s: %w", name, err)
		}
	}
	return nil
}

// Adopt records id, a result of allocation.Apart, as the holder of an address that the holder uses. The address was held by the name
// alone or is free. Claimed has the first pool that contains the address; it is zero if none does. The error wraps allocation.ErrHeld if
// the address has another holder.
func (c *Claimer) Adopt(ctx context.Context, h Harvester, pools []string, addr netip.Addr, id string) (Claimed, error) {
	for _, name := range pools {
		claimed := Claimed{Pool: name}
		err := c.change(ctx, h, name, func(p *allocation.Pool) (changed bool, err error) {
			claimed.Address, changed, err = p.Adopt(addr, id)
			return changed, err
		})
		switch {
		case err == nil:
			return claimed, nil
		case !errors.Is(err, allocation.ErrOutside) && client.IgnoreNotFound(err) != nil:
			return Claimed{}, fmt.Errorf("adopting %s in IPPool %s: %w", addr, name, err)
		}
	}
	return Claimed{}, nil
}

// Held returns the address of the holder in the first of the pools that records one, or the zero value. It changes nothing.
func Held(ctx context.Context, h Harvester, pools []string, id string) (Claimed, error) {
	for _, name := range pools {
		held, err := holds(ctx, h, name, id)
		if err != nil || held.Pool != "" {
			return held, err
		}
	}
	return Claimed{}, nil
}

// holds returns the address of the holder in a pool, read from a cache that may be stale.
func holds(ctx context.Context, h Harvester, name, id string) (Claimed, error) {
	_, p, err := load(ctx, h, h, name, false)
	if err != nil {
		return Claimed{}, client.IgnoreNotFound(err)
	}
	address, ok := p.Holds(id)
	if !ok {
		return Claimed{}, nil
	}
	return Claimed{Address: address, Pool: name}, nil
}

// note records why a pool has allocated no address. It returns false for an error that is not about the pool.
func (e *NoAddressError) note(pool string, err error) bool {
	other, broken := &otherNetworkError{}, &allocation.BrokenError{}
	e.OtherNetwork = e.OtherNetwork || errors.As(err, &other)
	switch {
	case errors.Is(err, allocation.ErrExhausted):
		e.Exhausted = true
		e.Pools = append(e.Pools, fmt.Sprintf("IPPool %s has no free address: add a range, or delete machines or load balancers that hold its addresses", pool))
	case apierrors.IsNotFound(err):
		e.Missing = true
		e.Pools = append(e.Pools, fmt.Sprintf("IPPool %s does not exist on Harvester: create it, or name another pool", pool))
	case errors.As(err, &other), errors.As(err, &broken), errors.Is(err, allocation.ErrDeleting):
		e.Pools = append(e.Pools, fmt.Sprintf("IPPool %s %s", pool, err))
	default:
		return false
	}
	return true
}

type otherNetworkError struct {
	network  string
	networks []string
}

// Error completes a sentence about the pool.
func (e *otherNetworkError) Error() string {
	return fmt.Sprintf("is for network %s, and the machine is on %s: put the machine on that network, or name another pool",
		e.network, strings.Join(e.networks, ", "))
}

// ForNetworks reports whether a pool with the network in its selector is for machines on the networks. A pool without a network is for
// all machines. Namespaces are compared only if both names have one.
func ForNetworks(selector string, networks []string) bool {
	if selector == "" {
		return true
	}
	for _, network := range networks {
		if sameNetwork(selector, network) {
			return true
		}
	}
	return false
}

func sameNetwork(a, b string) bool {
	namespaceA, nameA := splitName(a)
	namespaceB, nameB := splitName(b)
	return nameA == nameB && (namespaceA == namespaceB || namespaceA == "" || namespaceB == "")
}

func splitName(reference string) (namespace, name string) {
	if at := strings.LastIndex(reference, "/"); at >= 0 {
		return reference[:at], reference[at+1:]
	}
	return "", reference
}
