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

// latestPage is the property of a collector of events that has those that came last.
const latestPage = "latestPage"

// tagEvents are what vCenter writes when a tag is attached to an object or taken off it: tags are no property of what carries them,
// so that the stream would not tell. Only the stream's goroutine uses it.
type tagEvents struct {
	collector inventory.Ref // none: vCenter has refused one
	last      int32         // key of the newest that is known
}

// collectTagEvents has vCenter collect them for the session. An account that it refuses this does without.
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

// followTagEvents has the property collector report them.
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

// withoutTagEvents returns what is no answer of vCenter. Tags are looked at with their zone all the same, only later.
func (s *Stream) withoutTagEvents(err error) error {
	if !soap.IsSoapFault(err) {
		return err
	}
	s.log.Info("vCenter does not tell of tags", "error", err)
	s.tagEvents.collector = inventory.Ref{}
	return nil
}

// apply takes over an answer of the stream.
func (s *Stream) apply(set *types.UpdateSet) inventory.Changes {
	c := s.index.Apply(set)
	c.Tags = s.tagEvents.news(set)
	return c
}

// news returns the names of the tags of which there are events that were not known; "" stands for any tag.
func (e *tagEvents) news(set *types.UpdateSet) []string {
	var names []string
	for _, filter := range set.FilterSet {
		for _, update := range filter.ObjectSet {
			if update.Obj != e.collector {
				continue
			}
			for _, change := range update.ChangeSet {
				if strings.HasPrefix(change.Name, latestPage) { // of all of it, or of one event
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

// page returns the tags of the new events of a page. When all of them are, some may have come and been pushed out already.
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

// tagOf returns the name of the tag that an event is of. vCenter does not say of which category.
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
