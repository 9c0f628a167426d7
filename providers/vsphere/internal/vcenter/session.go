// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/stream"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// logoutTimeout bounds logging out, which is best effort: vCenter ends idle sessions itself.
const logoutTimeout = 5 * time.Second

// Session is a login on one vCenter with the inventory that the account can see. Reads are served from memory; each operation
// is one call, bounded in time. A session survives lost connections: vCenter keeps it, and its pending updates, for a while. A
// session that was lost stays lost: get a new one from the Pool.
type Session struct {
	server string
	opts   *Options
	api    *transport.SOAPClient
	lose   context.CancelCauseFunc // ends this session with a cause

	index     *inventory.Index
	stream    *stream.Stream
	notify    *debouncer
	templates *templates
	groups    *drsGroups
	zones     *zones
	hardware  hardware.Seen
	modules   *clusterModules
	rest      *transport.RESTClient
	tags      *tagging
	policies  *storagePolicies
	keys      *keyCache

	slots        transport.Slots
	loggedIn     bool
	instanceUUID string

	mu   sync.Mutex      // orders the start of background work and close
	work sync.WaitGroup  // background work of this session
	life context.Context //nolint:containedctx // the session's own life, for what it does in the background
}

// Version returns vCenter's version, such as "8.0.3".
func (s *Session) Version() string { return s.api.ServiceContent.About.Version }

// InstanceUUID identifies the vCenter under all its names. It is "" if vCenter reports none.
func (s *Session) InstanceUUID() string { return s.instanceUUID }

// dial opens a connection, logs in and follows the inventory. ctx is the session's life.
func dial(ctx context.Context, ep Endpoint, opts *Options, lose context.CancelCauseFunc) (*Session, error) {
	client, err := newClient(ep, opts)
	if err != nil {
		return nil, err
	}
	s := &Session{
		server: ep.Server, opts: opts, lose: lose, life: ctx,
		index: inventory.NewIndex(opts.vcenters.Records(ep.Server)), templates: newTemplates(), slots: make(transport.Slots, transport.MaxCalls),
	}
	staleness := stream.NewStalenessCheck(lose)
	s.api = transport.NewSOAPClient(client, s.slots, opts.lines.To(ep.Server), staleness.Observe)
	s.stream = stream.New(stream.Options{
		API: s.api, Index: s.index, Staleness: staleness, Log: opts.Log.With("server", ep.Server), Report: s.report, Background: s.background,
	})
	s.notify = newDebouncer(func() { s.emit(Event{Kind: InventoryChanged}) })
	s.groups = newDRSGroups(drsOptions{
		API: s.api, Index: s.index, Stream: s.stream, Locks: opts.locks, Server: ep.Server, Joined: s.joined, Background: s.background,
	})
	user := url.UserPassword(ep.Username, ep.Password)
	s.rest = s.newRESTClient(user)
	s.tags = newTagging(s.rest, s.index.Shows)
	s.zones = newZones(zoneOptions{
		Index: s.index, Tags: s.tags, Clusters: s.groups, Done: func() { s.emit(Event{Kind: InventoryChanged}) }, Background: s.background,
	})
	s.modules = newClusterModules(s.rest)
	s.policies = s.newPolicyService()
	s.keys = newKeyCache(s.api)

	if err := s.connect(ctx, user); err != nil {
		err = vcerrors.OfSession(err)
		s.close(ctx, err)
		return nil, err
	}
	return s, nil
}

func (s *Session) connect(ctx context.Context, user *url.Userinfo) error {
	opening, cancel := context.WithTimeout(ctx, transport.Timeout)
	defer cancel()
	content, err := methods.GetServiceContent(opening, s.api)
	if err != nil {
		return err
	}
	if content.About.ApiType != "VirtualCenter" || content.SessionManager == nil || content.TaskManager == nil || content.ViewManager == nil ||
		content.SearchIndex == nil {
		return fmt.Errorf("%w: it is not a vCenter, but %q", vcerrors.ErrUnreachable, content.About.FullName)
	}
	s.api.ServiceContent, s.instanceUUID = content, content.About.InstanceUuid
	password, _ := user.Password()
	if _, err = methods.Login(opening, s.api, &types.Login{
		This: *content.SessionManager, UserName: user.Username(), Password: password, Locale: "en_US",
	}); err != nil {
		return err
	}
	s.loggedIn = true
	return s.stream.Open(ctx)
}

// close ends the session's work and logs out, unless vCenter has already ended the session. It tries even if ctx has ended or
// vCenter was unreachable a moment ago, because a connect that fails halfway leaves a session behind each time.
func (s *Session) close(ctx context.Context, why error) {
	s.lose(why)
	s.notify.stop()
	s.mu.Lock()   // a holder of the lock starts work that is waited for; later ones see that the session is over
	s.mu.Unlock() //nolint:staticcheck // an empty critical section is meant
	s.work.Wait()
	s.index.Close()
	defer s.api.CloseIdleConnections()
	if !s.loggedIn || errors.Is(why, vcerrors.ErrConnecting) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
	defer cancel()
	if err := s.rest.Logout(ctx); err != nil {
		s.opts.Log.Debug("logging out of vCenter's REST API", "server", s.server, "error", err)
	}
	if _, err := methods.Logout(ctx, s.api, &types.Logout{This: *s.api.ServiceContent.SessionManager}); err != nil {
		s.opts.Log.Debug("logging out of vCenter", "server", s.server, "error", err)
	}
}

// background runs f unless the session has ended. f must return when its context ends.
func (s *Session) background(f func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() == nil {
		s.work.Go(func() { f(s.life) })
	}
}
