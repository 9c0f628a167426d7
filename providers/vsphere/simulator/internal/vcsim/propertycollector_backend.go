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

// CollectorBackend is the interface of collectors to their vCenter.
type CollectorBackend interface {
	// Listen registers a listener for changes for the duration of the call's session.
	Listen(ctx *simulator.Context, l simulator.RegisterObject)
	// Silent returns the properties whose changes are not reported to clients.
	Silent() []string
	// WaitContext returns a context that ends with the client's connection and its session.
	WaitContext(ctx *simulator.Context, collector types.ManagedObjectReference) context.Context
	// LockStructure locks the structure of the inventory until unlock is called.
	LockStructure() (unlock func())
	// Visible returns the references that clients may see.
	Visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference
}

type backendKey struct{}

// WithBackend adds the backend to the context of a call. vcsim creates collectors from their zero value, so they cannot be given one
// earlier.
func WithBackend(ctx context.Context, backend CollectorBackend) context.Context {
	return context.WithValue(ctx, backendKey{}, backend)
}

// backendOf returns the backend of a call.
func backendOf(ctx *simulator.Context) CollectorBackend {
	return ctx.Value(backendKey{}).(CollectorBackend)
}
