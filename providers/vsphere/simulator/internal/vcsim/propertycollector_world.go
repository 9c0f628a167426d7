// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// ErrExpired is why the waits of a session end that expires.
var ErrExpired = errors.New("session expired")

// CollectorWorld is what collectors need of the vCenter that they are of.
type CollectorWorld interface {
	// Listen registers an object that is told of changes as long as the session of the call lasts.
	Listen(ctx *simulator.Context, l simulator.RegisterObject)
	// Silent are the properties whose changes clients are not told of.
	Silent() []string
	// Bound ends with what a wait of a collector is for: the client's connection and its session.
	Bound(ctx *simulator.Context, collector types.ManagedObjectReference) context.Context
	// Still keeps the structure of the inventory as it is until the returned function is called.
	Still() (leave func())
	// Visible leaves out what clients may not see.
	Visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference
}

type worldKey struct{}

// WithWorld puts the world into the context of a call. vcsim makes collectors by their zero value, so they can be given nothing before.
func WithWorld(ctx context.Context, world CollectorWorld) context.Context {
	return context.WithValue(ctx, worldKey{}, world)
}

// worldOf returns the world of a call.
func worldOf(ctx *simulator.Context) CollectorWorld { return ctx.Value(worldKey{}).(CollectorWorld) }
