// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// client is a plain govmomi client, logged in, with a finder for the default objects of a datacenter.
type client struct {
	*govmomi.Client
	t      *testing.T
	finder *find.Finder
}

// connect verifies the certificate by its thumbprint.
func connect(t *testing.T, s *simulator.Server, datacenter string) *client {
	t.Helper()
	u := &url.URL{Scheme: "https", Host: s.Host(), Path: "/sdk"}
	sc := soap.NewClient(u, false)
	sc.SetThumbprint(u.Host, s.Thumbprint())
	vc, err := vim25.NewClient(t.Context(), sc)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	c := &client{t: t, Client: &govmomi.Client{Client: vc, SessionManager: session.NewManager(vc)}, finder: find.NewFinder(vc)}
	if err := c.Login(t.Context(), userinfo(s)); err != nil {
		t.Fatalf("logging in: %v", err)
	}
	if datacenter != "" {
		dc, err := c.finder.Datacenter(t.Context(), datacenter)
		if err != nil {
			t.Fatal(err)
		}
		c.finder.SetDatacenter(dc)
	}
	return c
}

func userinfo(s *simulator.Server) *url.Userinfo {
	return url.UserPassword(s.Username(), s.Password())
}

// must returns the value of a call that must succeed.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

type cloneOption func(*types.VirtualMachineCloneSpec)

// cloneSpec returns the spec of a clone in a pool and on a datastore.
func (c *client) cloneSpec(pool, datastore string, opts ...cloneOption) types.VirtualMachineCloneSpec {
	c.t.Helper()
	poolRef := must(c.finder.ResourcePool(c.t.Context(), pool))(c.t).Reference()
	dsRef := must(c.finder.Datastore(c.t.Context(), datastore))(c.t).Reference()
	spec := types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &poolRef, Datastore: &dsRef},
		Config:   &types.VirtualMachineConfigSpec{},
	}
	for _, opt := range opts {
		opt(&spec)
	}
	return spec
}

// startClone starts a clone of the layout's template into the folder "workload".
func (c *client) startClone(name string, spec types.VirtualMachineCloneSpec) *object.Task {
	c.t.Helper()
	folder := must(c.finder.Folder(c.t.Context(), "workload"))(c.t)
	return must(c.template().Clone(c.t.Context(), folder, name, spec))(c.t)
}

func (c *client) template() *object.VirtualMachine {
	c.t.Helper()
	return must(c.finder.VirtualMachine(c.t.Context(), "templates/"+simulator.TemplateName))(c.t)
}

// clone waits for the clone.
func (c *client) clone(name string, spec types.VirtualMachineCloneSpec) *object.VirtualMachine {
	c.t.Helper()
	info := must(c.startClone(name, spec).WaitForResult(c.t.Context()))(c.t)
	return object.NewVirtualMachine(c.Client.Client, info.Result.(types.ManagedObjectReference))
}

func (c *client) powerOn(vm *object.VirtualMachine) {
	c.t.Helper()
	if err := must(vm.PowerOn(c.t.Context()))(c.t).Wait(c.t.Context()); err != nil {
		c.t.Fatalf("powering on: %v", err)
	}
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("did not happen in time: %s", what)
		case <-tick.C:
		}
	}
}
