// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
)

// latestPage is the property of an event collector that holds the latest events.
const latestPage = "latestPage"

// tagEvents follows the events that vCenter writes when a tag is attached or detached: tags are not properties of the objects
// that carry them, so the stream does not report them. Only the stream's goroutine uses it.
type tagEvents struct {
	collector inventory.Ref // zero if vCenter has rejected it
	last      int32         // key of the newest known event
}

// collectTagEvents creates the event collector of the session. An account without the privilege does without it.
func (s *Stream) collectTagEvents(ctx context.Context) error {
	manager := s.api.ServiceContent.EventManager
	if manager == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, transport.Timeout)
	defer cancel()
	res, err := methods.CreateCollectorForEvents(ctx, s.api, &types.CreateCollectorForEvents{This: *manager, Filter: types.EventFilterSpec{
		EventTypeId: []string{"com.vmware.cis.tagging.attach", "com.vmware.cis.tagging.detach"},
	}})
	if err != nil {
		return s.withoutTagEvents(err)
	}
	s.tagEvents.collector = res.Returnval
	return nil
}

// followTagEvents makes the property collector report the events.
func (s *Stream) followTagEvents(ctx context.Context) error {
	if s.tagEvents.collector == (inventory.Ref{}) {
		return nil
	}
	_, err := methods.CreateFilter(ctx, s.api, &types.CreateFilter{This: s.collector, Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: s.tagEvents.collector}},
		PropSet:   []types.PropertySpec{{Type: s.tagEvents.collector.Type, PathSet: []string{latestPage}}},
	}})
	if err != nil {
		return s.withoutTagEvents(err)
	}
	return nil
}

// withoutTagEvents ignores a fault from vCenter and returns other errors. Tags are still read with their zone, only later.
func (s *Stream) withoutTagEvents(err error) error {
	if !soap.IsSoapFault(err) {
		return err
	}
	s.log.Info("vCenter does not report tag events", "error", err)
	s.tagEvents.collector = inventory.Ref{}
	return nil
}

// apply applies a response of the stream.
func (s *Stream) apply(set *types.UpdateSet) inventory.Changes {
	c := s.index.Apply(set)
	c.Tags = s.tagEvents.news(set)
	return c
}

// news returns the names of the tags with new events; "" stands for any tag.
func (e *tagEvents) news(set *types.UpdateSet) []string {
	var names []string
	for _, filter := range set.FilterSet {
		for _, update := range filter.ObjectSet {
			if update.Obj != e.collector {
				continue
			}
			for _, change := range update.ChangeSet {
				if strings.HasPrefix(change.Name, latestPage) { // the whole page, or one event
					names = append(names, e.of(change.Val)...)
				}
			}
		}
	}
	return names
}

func (e *tagEvents) of(value any) []string {
	switch value := value.(type) {
	case types.ArrayOfEvent:
		return e.page(value.Event)
	case types.BaseEvent:
		return e.take(value, e.last)
	}
	return nil
}

// page returns the tags of the new events of a page. If all events are new, earlier ones may have been pushed out already.
func (e *tagEvents) page(events []types.BaseEvent) []string {
	var names []string
	known := e.last
	for _, event := range events {
		names = append(names, e.take(event, known)...)
	}
	if len(events) > 0 && len(names) == len(events) {
		names = append(names, "")
	}
	return names
}

func (e *tagEvents) take(event types.BaseEvent, known int32) []string {
	key := event.GetEvent().Key
	if key <= known {
		return nil
	}
	e.last = max(e.last, key)
	return []string{tagOf(event)}
}

// tagOf returns the name of the tag of an event. vCenter does not report its category.
func tagOf(event types.BaseEvent) string {
	if of, ok := event.(*types.EventEx); ok {
		for _, argument := range of.Arguments {
			if name, ok := argument.Value.(string); ok && argument.Key == "Tag" {
				return name
			}
		}
	}
	return ""
}
