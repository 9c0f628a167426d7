// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
)

const (
	attachmentAge = time.Minute      // of what is known to be attached; the stream does not report that
	namesAge      = 10 * time.Minute // of the names of tags and categories
	associations  = "/com/vmware/cis/tagging/tag-association"
)

// tagName is a tag and its category by name.
type tagName struct{ category, name string }

func (t tagName) String() string { return t.category + ":" + t.name }

// tagReader reads tags, which only the REST API has. It logs in when it is first needed, and reads the attachments of all
// objects that it was ever asked about in one call.
type tagReader struct {
	s    *Session
	user *url.Userinfo

	client  *rest.Client
	turn    chan struct{} // a token to log in
	reading chan struct{} // a token to read, and to use the names
	names   map[string]tagName
	namesAt time.Time

	mu         sync.Mutex // guards the attachments
	attached   map[ref][]tagName
	attachedAt time.Time
}

func newTagReader(s *Session, user *url.Userinfo) *tagReader {
	client := rest.NewClient(s.client)
	client.Transport = &restMeter{client.Transport, s.server, s.opts}
	return &tagReader{
		s: s, user: user, client: client, turn: make(chan struct{}, 1), reading: make(chan struct{}, 1),
		attached: map[ref][]tagName{},
	}
}

// AttachTags attaches tags, given by identifier, in one call. Those that are attached already stay so.
func (s *Session) AttachTags(ctx context.Context, vmRef string, tagIDs []string) error {
	if len(tagIDs) == 0 {
		return nil
	}
	r := parseRef("VirtualMachine", vmRef)
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

// refusal returns what is wrong with tags that were not attached: the first thing that somebody has to mend.
func refusal(errs tags.BatchErrors) error {
	says := func(kind string) bool {
		return slices.ContainsFunc(errs, func(e tags.BatchError) bool { return strings.Contains(strings.ToLower(e.Type), kind) })
	}
	switch {
	case says("notfound"), says("not_found"):
		return ErrNotFound
	case says("unauthorized"), says("permission"), says("privilege"):
		return ErrForbidden
	}
	return ErrInvalid
}

// of returns the tags attached to objects, no older than attachmentAge.
func (t *tagReader) of(ctx context.Context, objects []ref) (map[ref][]tagName, error) {
	if known, fresh := t.cached(objects); fresh {
		return known, nil
	}
	if err := acquire(ctx, t.reading); err != nil {
		return nil, fmt.Errorf("reading tags: %w", err)
	}
	defer func() { <-t.reading }()
	if known, fresh := t.cached(objects); fresh {
		return known, nil // who had the token before has read them
	}
	err := t.do(ctx, "reading tags", func(ctx context.Context) error { return t.read(ctx, objects) })
	if err != nil {
		return nil, err
	}
	known, _ := t.cached(objects)
	return known, nil
}

func (t *tagReader) cached(objects []ref) (map[ref][]tagName, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := time.Since(t.attachedAt) < attachmentAge
	known := map[ref][]tagName{}
	for _, object := range objects {
		names, ok := t.attached[object]
		fresh = fresh && ok
		known[object] = names
	}
	return known, fresh
}

// forget makes the next reader ask again.
func (t *tagReader) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attachedAt = time.Time{}
}

func (t *tagReader) read(ctx context.Context, objects []ref) error {
	t.mu.Lock()
	all := slices.Clone(objects)
	for object := range t.attached {
		if !slices.Contains(all, object) {
			all = append(all, object)
		}
	}
	t.mu.Unlock()
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
	attached := map[ref][]tagName{}
	for _, object := range objects {
		attached[object] = nil
	}
	for _, answer := range answers {
		names := make([]tagName, 0, len(answer.TagIDs))
		for _, id := range answer.TagIDs {
			name, err := t.name(ctx, manager, id)
			if err != nil {
				return err
			}
			names = append(names, name)
		}
		attached[answer.ObjectID.Reference()] = names
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attached, t.attachedAt = attached, began
	return nil
}

// name looks a tag up, and its category.
func (t *tagReader) name(ctx context.Context, manager *tags.Manager, id string) (tagName, error) {
	if time.Since(t.namesAt) > namesAge {
		t.names, t.namesAt = map[string]tagName{}, time.Now()
	}
	if name, ok := t.names[id]; ok {
		return name, nil
	}
	tag, err := manager.GetTag(ctx, id)
	if err != nil {
		return tagName{}, err
	}
	category, err := manager.GetCategory(ctx, tag.CategoryID)
	if err != nil {
		return tagName{}, err
	}
	t.names[id] = tagName{category.Name, tag.Name}
	return t.names[id], nil
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
	case err == nil, errors.Is(err, ErrInvalid), errors.Is(err, ErrNotFound), errors.Is(err, ErrUnavailable), errors.Is(err, ErrForbidden):
		return err
	case rest.IsStatusError(err, http.StatusUnauthorized), rest.IsStatusError(err, http.StatusForbidden):
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	case rest.IsStatusError(err, http.StatusNotFound):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case strings.HasPrefix(err.Error(), "400 "):
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
