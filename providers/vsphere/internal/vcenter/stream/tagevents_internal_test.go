// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

func event(key int32, tag string) types.BaseEvent {
	return &types.EventEx{Event: types.Event{Key: key}, Arguments: []types.KeyAnyValue{{Key: "Object", Value: "rack-1"}, {Key: "Tag", Value: tag}}}
}

func TestTagsOfNewEvents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := tagEvents{collector: inventory.Ref{Type: "EventHistoryCollector", Value: "collector-1"}}
	told := func(name string, value any, of inventory.Ref) []string {
		return e.news(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{{
			Obj: of, ChangeSet: []types.PropertyChange{{Name: name, Val: value}},
		}}}}})
	}
	page := func(events ...types.BaseEvent) []string {
		return told("latestPage", types.ArrayOfEvent{Event: events}, e.collector)
	}
	g.Expect(page()).To(BeEmpty())
	g.Expect(page(event(7, "b"), event(5, "a"))).To(ConsistOf("b", "a", ""), "more may have been on an earlier page")
	g.Expect(page(event(5, "a"), event(7, "b"))).To(BeEmpty(), "they are known; the page has no order")
	g.Expect(page(event(9, "d"), event(7, "b"), event(8, "c"))).To(ConsistOf("d", "c"))
	g.Expect(told(`latestPage[10]`, event(10, "e"), e.collector)).To(ConsistOf("e"))
	g.Expect(told(`latestPage[5]`, nil, e.collector)).To(BeEmpty(), "it was pushed out")
	g.Expect(page(&types.EventEx{Event: types.Event{Key: 11}}, event(10, "e"))).To(ConsistOf(""), "it may be any tag")
	g.Expect(told("latestPage", types.ArrayOfEvent{Event: []types.BaseEvent{event(12, "f")}}, inventory.Ref{Value: "another"})).To(BeEmpty())
}
