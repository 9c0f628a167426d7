// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// ErrExpired is the cause with which the waits of an expired session are canceled.
var ErrExpired = errors.New("session expired")

// CollectorWorld is the interface of collectors to their vCenter.
type CollectorWorld interface {
	// Listen registers a listener for changes for the duration of the call's session.
	Listen(ctx *simulator.Context, l simulator.RegisterObject)
	// Silent returns the properties whose changes are not reported to clients.
	Silent() []string
	// Bound returns a context that ends with the client's connection and its session.
	Bound(ctx *simulator.Context, collector types.ManagedObjectReference) context.Context
	// Still locks the structure of the inventory until leave is called.
	Still() (leave func())
	// Visible returns the references that clients may see.
	Visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference
}

type worldKey struct{}

// WithWorld adds the world to the context of a call. vcsim creates collectors from their zero value, so they cannot be given one
// earlier.
func WithWorld(ctx context.Context, world CollectorWorld) context.Context {
	return context.WithValue(ctx, worldKey{}, world)
}

// worldOf returns the world of a call.
func worldOf(ctx *simulator.Context) CollectorWorld { return ctx.Value(worldKey{}).(CollectorWorld) }
