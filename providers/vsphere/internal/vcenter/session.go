// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/calls"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/clustermodules"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/encryption"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/restapi"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/soapapi"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/storagepolicy"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/tagging"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

const (
	// maxTimeouts in a row without a single answer mean that the connection is dead.
	maxTimeouts = 3
	// logoutTimeout bounds the farewell, which is a courtesy: vCenter ends idle sessions itself.
	logoutTimeout = 5 * time.Second
)

// Session is a login on one vCenter with the inventory as the account sees it. Reads answer from memory; what acts is
// one call, bounded in time. A session outlives connections: vCenter keeps it, and what its stream is to report, for a
// while. One that is lost stays lost: get the next one from the Pool.
type Session struct {
	server string
	opts   *Options
	api    *soapapi.Client
	lose   context.CancelCauseFunc // ends this session, for the reason given

	index     *inventory.Index
	collector types.ManagedObjectReference
	position  string        // of the stream, which alone uses it
	readTook  time.Duration // the whole inventory, the last time
	lags      bool          // the stream was behind once
	whole     bool          // the index has all that there was when the stream was opened
	doubts    doubts
	follower  *follower
	notify    *debouncer
	templates *templates
	groups    *groups
	jobs      *jobs
	hardware  hardware.Seen
	modules   *clustermodules.Modules
	rest      *restapi.Client
	tags      *tagging.Tags
	policies  *storagepolicy.Service
	keys      *encryption.Keyring

	slots    calls.Slots
	timeouts atomic.Int32
	loggedIn bool

	mu   sync.Mutex      // orders the start of background work and close
	work sync.WaitGroup  // what runs in the background for this session
	life context.Context //nolint:containedctx // the session's own life, for what it does in the background
}

// Version returns vCenter's version, such as "8.0.3".
func (s *Session) Version() string { return s.api.ServiceContent.About.Version }

// dial opens a connection, logs in and follows the inventory. ctx is the session's life.
func dial(ctx context.Context, ep Endpoint, opts *Options, lose context.CancelCauseFunc) (*Session, error) {
	client, err := newClient(ep, opts)
	if err != nil {
		return nil, err
	}
	s := &Session{
		server: ep.Server, opts: opts, lose: lose, life: ctx,
		index: inventory.NewIndex(opts.vcenters.Records(ep.Server)), follower: newFollower(), templates: newTemplates(), slots: make(calls.Slots, calls.Most),
	}
	s.api = soapapi.New(client, s.slots, opts.lines.To(ep.Server), s.judge)
	s.notify = newDebouncer(func() { s.emit(Event{Kind: InventoryChanged}) })
	s.groups = newGroups(s)
	s.jobs = newJobs()
	user := url.UserPassword(ep.Username, ep.Password)
	s.rest = s.newRESTClient(user)
	s.tags = tagging.New(s.rest, s.index.Shows)
	s.modules = clustermodules.New(s.rest)
	s.policies = s.newPolicyService()
	s.keys = encryption.New(s.api)

	if err := s.connect(ctx, user); err != nil {
		err = vcerrors.OfSession(err)
		s.close(ctx, err)
		return nil, err
	}
	return s, nil
}

func (s *Session) connect(ctx context.Context, user *url.Userinfo) error {
	opening, cancel := context.WithTimeout(ctx, calls.Timeout)
	defer cancel()
	content, err := methods.GetServiceContent(opening, s.api)
	if err != nil {
		return err
	}
	if content.About.ApiType != "VirtualCenter" || content.SessionManager == nil || content.TaskManager == nil || content.ViewManager == nil ||
		content.SearchIndex == nil {
		return fmt.Errorf("%w: it is no vCenter but %q", vcerrors.ErrUnreachable, content.About.FullName)
	}
	s.api.ServiceContent = content
	password, _ := user.Password()
	if _, err = methods.Login(opening, s.api, &types.Login{
		This: *content.SessionManager, UserName: user.Username(), Password: password, Locale: "en_US",
	}); err != nil {
		return err
	}
	s.loggedIn = true
	if err := s.createView(opening); err != nil {
		return err
	}
	return s.openStream(ctx, func(inventory.Changes) {})
}

// close ends what the session does and logs out, unless vCenter has ended the session itself. It does so even if ctx has
// ended, and if vCenter was not to be reached a moment ago: what fails half way through connecting leaves a session there
// each time.
func (s *Session) close(ctx context.Context, why error) {
	s.lose(why)
	s.notify.stop()
	s.mu.Lock()   // whoever holds it starts work that is waited for; later ones see that the session is over
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

// judge decides from a call's outcome whether the session still works. A connection that failed does not end it, but gives
// reason to try whether the stream can go on. A late answer alone is no such reason.
func (s *Session) judge(err error) {
	classified := vcerrors.Classify(err)
	if errors.Is(err, context.DeadlineExceeded) {
		if s.timeouts.Add(1) >= maxTimeouts {
			s.timeouts.Store(0)
			s.doubts.raise(fmt.Errorf("%w: %d calls in a row were not answered", vcerrors.ErrUnreachable, maxTimeouts))
		}
		return
	}
	s.timeouts.Store(0)
	if errors.Is(classified, vcerrors.ErrUnreachable) {
		s.doubts.raise(classified)
	}
	for _, over := range []error{vcerrors.ErrConnecting, vcerrors.ErrThumbprint, vcerrors.ErrUntrusted} {
		if errors.Is(classified, over) {
			s.lose(classified)
		}
	}
}

func (s *Session) emit(e Event) {
	e.Server = s.server
	s.opts.OnEvent(e)
}

// background runs f unless the session is over. f must end when its context does.
func (s *Session) background(f func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() == nil {
		s.work.Go(func() { f(s.life) })
	}
}
