// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

const (
	attachmentAge = time.Minute // of what is known to be attached; the stream does not report that
	maxNamed      = 20          // tags of which the names are looked up only to be shown
	associations  = "/com/vmware/cis/tagging/tag-association"
)

// tagReader reads tags, which only the REST API has. It logs in when it is first needed, and reads the attachments of all
// objects that it was ever asked about in one call. Names are looked up of the tags that are asked for only: hosts may
// carry hundreds.
type tagReader struct {
	s    *Session
	user *url.Userinfo

	client  *rest.Client
	turn    chan struct{} // a token to log in
	reading chan struct{} // a token to read, and to use the names
	names   tagNames

	mu         sync.Mutex // guards what was read
	attached   map[inventory.Ref][]string
	ids        map[inventory.TagName]string
	attachedAt time.Time
}

func newTagReader(s *Session, user *url.Userinfo) *tagReader {
	client := rest.NewClient(s.client)
	client.Transport = &restMeter{client.Transport, s.server, s.opts}
	return &tagReader{
		s: s, user: user, client: client, turn: make(chan struct{}, 1), reading: make(chan struct{}, 1),
		attached: map[inventory.Ref][]string{},
	}
}

// AttachTags attaches tags, given by identifier, in one call. Those that are attached already stay so.
func (s *Session) AttachTags(ctx context.Context, vmRef string, tagIDs []string) error {
	if len(tagIDs) == 0 {
		return nil
	}
	r := inventory.ParseRef("VirtualMachine", vmRef)
	body := map[string]any{"object_id": map[string]string{"type": r.Type, "id": r.Value}, "tag_ids": tagIDs}
	return s.tags.do(ctx, "attaching tags to "+r.Value, func(ctx context.Context) error {
		var result struct {
			Success bool             `json:"success"`
			Errors  tags.BatchErrors `json:"error_messages"`
		}
		call := s.tags.client.Resource(associations).WithAction("attach-multiple-tags-to-object").Request(http.MethodPost, body)
		if err := s.tags.client.Do(ctx, call, &result); err != nil {
			return err
		}
		if result.Success {
			return nil
		}
		return fmt.Errorf("%w: %w", refusal(result.Errors), result.Errors)
	})
}

// refusal returns what is wrong with tags that were not attached: the first thing that somebody has to repair.
func refusal(errs tags.BatchErrors) error {
	says := func(kind string) bool {
		return slices.ContainsFunc(errs, func(e tags.BatchError) bool { return strings.Contains(strings.ToLower(e.Type), kind) })
	}
	switch {
	case says("notfound"), says("not_found"):
		return vcerrors.ErrNotFound
	case says("unauthorized"), says("permission"), says("privilege"):
		return vcerrors.ErrForbidden
	}
	return vcerrors.ErrInvalid
}

// attachments is what is attached to objects, and which tags the names that were asked for are.
type attachments struct {
	to  map[inventory.Ref][]string // identifiers
	ids map[inventory.TagName]string
}

// has reports whether a tag is attached to an object.
func (a attachments) has(object inventory.Ref, tag inventory.TagName) bool {
	id, exists := a.ids[tag]
	return exists && slices.Contains(a.to[object], id)
}

// on returns the tags that are attached to any of the objects.
func (a attachments) on(objects []inventory.Ref) []string {
	var ids []string
	for _, object := range objects {
		ids = append(ids, a.to[object]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// of returns the tags attached to objects, no older than attachmentAge.
func (t *tagReader) of(ctx context.Context, objects []inventory.Ref, wanted []inventory.TagName) (attachments, error) {
	if known, fresh := t.cached(objects, wanted); fresh {
		return known, nil
	}
	if err := acquire(ctx, t.reading); err != nil {
		return attachments{}, fmt.Errorf("reading tags: %w", err)
	}
	defer func() { <-t.reading }()
	if known, fresh := t.cached(objects, wanted); fresh {
		return known, nil // who had the token before has read them
	}
	err := t.do(ctx, "reading tags", func(ctx context.Context) error { return t.read(ctx, objects, wanted) })
	if err != nil {
		return attachments{}, err
	}
	known, _ := t.cached(objects, wanted)
	return known, nil
}

func (t *tagReader) cached(objects []inventory.Ref, wanted []inventory.TagName) (attachments, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := time.Since(t.attachedAt) < attachmentAge
	known := attachments{map[inventory.Ref][]string{}, map[inventory.TagName]string{}}
	for _, object := range objects {
		ids, ok := t.attached[object]
		fresh = fresh && ok
		known.to[object] = ids
	}
	for _, tag := range wanted {
		id, ok := t.ids[tag]
		fresh = fresh && ok
		if id != "" {
			known.ids[tag] = id
		}
	}
	return known, fresh
}

// read replaces what is known. Objects that the inventory does not show any more are left out.
func (t *tagReader) read(ctx context.Context, objects []inventory.Ref, wanted []inventory.TagName) error {
	t.mu.Lock()
	all := append(slices.Clone(objects), slices.Collect(maps.Keys(t.attached))...)
	names := append(slices.Clone(wanted), slices.Collect(maps.Keys(t.ids))...)
	t.mu.Unlock()
	slices.SortFunc(all, inventory.CompareRefs)
	all = slices.DeleteFunc(slices.Compact(all), func(object inventory.Ref) bool { return !t.s.index.Shows(object) })
	began := time.Now()
	manager := tags.NewManager(t.client)
	references := make([]mo.Reference, len(all))
	for i := range all {
		references[i] = all[i]
	}
	answers, err := manager.ListAttachedTagsOnObjects(ctx, references)
	if err != nil {
		return err
	}
	ids := map[inventory.TagName]string{}
	for _, name := range names {
		if ids[name], err = t.names.identify(ctx, manager, name); err != nil {
			return err
		}
	}
	attached := map[inventory.Ref][]string{}
	for _, object := range objects {
		attached[object] = nil
	}
	for _, answer := range answers {
		attached[answer.ObjectID.Reference()] = answer.TagIDs
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attached, t.ids, t.attachedAt = attached, ids, began
	return nil
}

// named tells people what some tags are called. It looks up few of them, and none if it cannot.
func (t *tagReader) named(ctx context.Context, ids []string) []inventory.TagName {
	if err := acquire(ctx, t.reading); err != nil {
		return nil
	}
	defer func() { <-t.reading }()
	var found []inventory.TagName
	_ = t.do(ctx, "reading tags", func(ctx context.Context) error {
		manager := tags.NewManager(t.client)
		for _, id := range ids[:min(len(ids), maxNamed)] {
			name, err := t.names.of(ctx, manager, id)
			if err != nil {
				return err
			}
			found = append(found, name)
		}
		return nil
	})
	return found
}

// do runs REST calls, logged in.
func (t *tagReader) do(ctx context.Context, doing string, f func(context.Context) error) error {
	if err := acquire(ctx, t.s.slots); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer func() { <-t.s.slots }()
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id, err := t.login(bounded, "")
	if err == nil {
		err = f(bounded)
	}
	if id != "" && rest.IsStatusError(err, http.StatusUnauthorized) { // the session has expired
		if _, err = t.login(bounded, id); err == nil {
			err = f(bounded)
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	} else {
		err = restError(err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// login returns the identifier of a session other than the expired one.
func (t *tagReader) login(ctx context.Context, expired string) (string, error) {
	if err := acquire(ctx, t.turn); err != nil {
		return "", err
	}
	defer func() { <-t.turn }()
	if id := t.client.SessionID(); id != expired {
		return id, nil // somebody else was faster
	}
	t.client.SessionID("")
	err := t.client.Login(ctx, t.user)
	return t.client.SessionID(), err
}

func (t *tagReader) logout(ctx context.Context) {
	if t.client.SessionID() == "" {
		return
	}
	if err := t.client.Logout(ctx); err != nil {
		t.s.opts.Log.Debug("logging out of vCenter's REST API", "server", t.s.server, "error", err)
	}
	t.client.SessionID("")
}

// restError classifies. A REST API that fails says nothing about the session of the SOAP API, so it is never ErrUnreachable.
func restError(err error) error {
	switch {
	case err == nil, errors.Is(err, vcerrors.ErrInvalid), errors.Is(err, vcerrors.ErrNotFound), errors.Is(err, vcerrors.ErrUnavailable), errors.Is(err, vcerrors.ErrForbidden):
		return err
	case rest.IsStatusError(err, http.StatusUnauthorized), rest.IsStatusError(err, http.StatusForbidden):
		return fmt.Errorf("%w: %w", vcerrors.ErrForbidden, err)
	case rest.IsStatusError(err, http.StatusNotFound):
		return fmt.Errorf("%w: %w", vcerrors.ErrNotFound, err)
	case strings.HasPrefix(err.Error(), "400 "):
		return fmt.Errorf("%w: %w", vcerrors.ErrInvalid, err)
	}
	return fmt.Errorf("%w: %w", vcerrors.ErrUnavailable, err)
}
