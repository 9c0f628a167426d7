// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// SOAPClient limits the number and duration of calls. The embedded client has no limits; the stream uses it.
type SOAPClient struct {
	*vim25.Client

	slots   Slots
	line    *Line
	observe func(error)
}

// NewSOAPClient returns a client without calling anything. observe receives the result of every limited call.
func NewSOAPClient(of *vim25.Client, slots Slots, line *Line, observe func(error)) *SOAPClient {
	return &SOAPClient{Client: of, slots: slots, line: line, observe: observe}
}

// Call runs one call. doing is a gerund for the error.
func (c *SOAPClient) Call(ctx context.Context, doing string, f func(context.Context, soap.RoundTripper) error) error {
	if c.line.Hangs() {
		return fmt.Errorf("%s: %w: none of %d calls was answered for %s", doing, vcerrors.ErrUnavailable, MaxCalls, SlotTimeout)
	}
	observed := func(err error) error {
		c.observe(err)
		return vcerrors.Classify(err)
	}
	return c.slots.Run(ctx, doing, observed, func(ctx context.Context) error {
		c.line.Begin()
		err := f(ctx, c.Client)
		c.line.End(ctx.Err() == nil)
		return err
	})
}

// Retrieve reads properties of one object in one call. It returns ErrNotFound if the object does not exist.
func (c *SOAPClient) Retrieve(ctx context.Context, doing string, r inventory.Ref, properties []string, use func([]types.DynamicProperty)) error {
	return c.Call(ctx, doing, func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.RetrievePropertiesEx(ctx, rt, &types.RetrievePropertiesEx{
			This: c.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{{
				PropSet:   []types.PropertySpec{{Type: r.Type, PathSet: properties}},
				ObjectSet: []types.ObjectSpec{{Obj: r}},
			}},
		})
		if err != nil {
			return err
		}
		if res.Returnval == nil || len(res.Returnval.Objects) == 0 {
			return soap.WrapVimFault(&types.ManagedObjectNotFound{Obj: r})
		}
		use(res.Returnval.Objects[0].PropSet)
		return nil
	})
}

// RetrieveAll reads properties of objects of one type. Objects that do not exist are left out.
func (c *SOAPClient) RetrieveAll(ctx context.Context, doing string, refs []inventory.Ref, properties []string) (map[inventory.Ref][]types.DynamicProperty, error) {
	spec := types.PropertyFilterSpec{
		PropSet:                       []types.PropertySpec{{Type: refs[0].Type, PathSet: properties}},
		ReportMissingObjectsInResults: types.NewBool(true),
	}
	for _, r := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: r})
	}
	read := map[inventory.Ref][]types.DynamicProperty{}
	err := c.Call(ctx, doing, func(ctx context.Context, rt soap.RoundTripper) error {
		objects, err := mo.RetrievePropertiesEx(ctx, rt, types.RetrievePropertiesEx{
			This: c.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{spec},
		})
		for _, object := range objects {
			read[object.Obj] = object.PropSet
		}
		return err
	})
	return read, err
}
