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

// Harvester is where the pools are. Two that are equal are one.
type Harvester interface {
	// Get reads what may be a moment old, Live what is stored.
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
	Live() client.Reader
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error
}

// Claimed is an address and the pool that it is from.
type Claimed struct {
	allocation.Address
	Pool string
}

// NoAddressError says why none of the pools gives an address.
type NoAddressError struct {
	// Exhausted says that a pool would give one if it had any left, OtherNetwork that one is for other networks, Missing that one does
	// not exist.
	Exhausted, OtherNetwork, Missing bool
	// Pools says of each pool why it gives none.
	Pools []string
}

// Error is for the user.
func (e *NoAddressError) Error() string { return strings.Join(e.Pools, "; ") }

// Claim gives the holder an address of the first of the pools that has one for a machine on the networks: the same one again when it
// has one already, in whichever of them. An error is a NoAddressError where somebody has to do something.
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

// Release takes the holder's addresses out of the pools. Those of others, and pools that are gone, are left alone.
func (c *Claimer) Release(ctx context.Context, h Harvester, pools []string, id string) error {
	for _, name := range pools {
		err := c.change(ctx, h, name, func(p *allocation.Pool) (bool, error) { return p.Release(id), nil })
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("releasing the address in IPPool %s: %w", name, err)
		}
	}
	return nil
}

// Adopt has an address, which its holder uses, be held by the id, which is one of allocation.Apart: it was held by the name alone, or is free. The
// pool is the first that has the address; the zero value says that none does. The error wraps allocation.ErrHeld when another has it.
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

// Held returns the address that the holder has in the first of the pools that says so; the zero value when none does. It changes
// nothing.
func Held(ctx context.Context, h Harvester, pools []string, id string) (Claimed, error) {
	for _, name := range pools {
		held, err := holds(ctx, h, name, id)
		if err != nil || held.Pool != "" {
			return held, err
		}
	}
	return Claimed{}, nil
}

// holds returns the address that the holder has in a pool, as far as is known.
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

// note remembers why a pool gives no address. It is false for an error that says nothing of the pool.
func (e *NoAddressError) note(pool string, err error) bool {
	other, broken := &otherNetworkError{}, &allocation.BrokenError{}
	e.OtherNetwork = e.OtherNetwork || errors.As(err, &other)
	switch {
	case errors.Is(err, allocation.ErrExhausted):
		e.Exhausted = true
		e.Pools = append(e.Pools, fmt.Sprintf("IPPool %s has no free address: add a range, or delete machines or load balancers that have its addresses", pool))
	case apierrors.IsNotFound(err):
		e.Missing = true
		e.Pools = append(e.Pools, fmt.Sprintf("IPPool %s does not exist in Harvester: create it, or name another", pool))
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

// Error is the rest of a sentence about the pool.
func (e *otherNetworkError) Error() string {
	return fmt.Sprintf("is for network %s, and the machine is on %s: put the machine on that network, or name another pool",
		e.network, strings.Join(e.networks, ", "))
}

// ForNetworks reports whether a pool with the network in its selector is for machines on the networks: one without a network is for
// all. Names without a namespace are compared without.
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
