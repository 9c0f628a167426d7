// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestThumbprint(t *testing.T) {
	t.Parallel()
	one, other := simulator.Start(t, simulator.Layout{}), simulator.Start(t, simulator.Layout{})
	if one.Thumbprint() == other.Thumbprint() {
		t.Error("two servers have the same certificate")
	}
	sc := soap.NewClient(&url.URL{Scheme: "https", Host: one.Host(), Path: "/sdk"}, false)
	sc.SetThumbprint(one.Host(), other.Thumbprint())
	if _, err := vim25.NewClient(t.Context(), sc); err == nil {
		t.Error("connected with a wrong thumbprint")
	}
	sc.SetThumbprint(one.Host(), one.Thumbprint())
	if _, err := vim25.NewClient(t.Context(), sc); err != nil {
		t.Errorf("connecting with the right thumbprint: %v", err)
	}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.Layout{}, simulator.WithCredentials("joe", "secret"))
	c := connect(t, s, "")
	login := func(user, password string) error {
		return session.NewManager(connectOnly(t, s)).Login(t.Context(), url.UserPassword(user, password))
	}
	if s.Username() != "joe" || login("joe", "secret") != nil {
		t.Error("the account does not log in")
	}
	for _, wrong := range [][2]string{{"joe", "guess"}, {"eve", "secret"}, {"", ""}} {
		if err := login(wrong[0], wrong[1]); !isSOAPFault[types.InvalidLogin](err) {
			t.Errorf("%v: error is %v", wrong, err)
		}
	}
	rc := rest.NewClient(c.Client.Client)
	if err := rc.Login(t.Context(), url.UserPassword("joe", "guess")); err == nil {
		t.Error("REST accepts a wrong password")
	}

	s.SetPassword("rotated")
	if err := login("joe", "secret"); !isSOAPFault[types.InvalidLogin](err) {
		t.Errorf("the old password: error is %v", err)
	}
	if err := login("joe", s.Password()); err != nil {
		t.Errorf("the new password: error is %v", err)
	}
	must(methods.GetCurrentTime(t.Context(), c.Client.Client))(t) // the session continues
}

func connectOnly(t *testing.T, s *simulator.Server) *vim25.Client {
	t.Helper()
	return must(vim25.NewClient(t.Context(), soap.NewClient(&url.URL{Scheme: "https", Host: s.Host(), Path: "/sdk"}, true)))(t)
}

func isSOAPFault[T any](err error) bool {
	if err == nil || !soap.IsSoapFault(err) {
		return false
	}
	switch soap.ToSoapFault(err).VimFault().(type) {
	case T, *T:
		return true
	}
	return false
}

// A session may end during its calls.
func TestSessionsExpireWhileFiltersAreCreated(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	for range 10 {
		c := connect(t, s, "")
		views := view.NewManager(c.Client.Client)
		filter := &types.CreateFilter{This: c.ServiceContent.PropertyCollector, Spec: types.PropertyFilterSpec{
			PropSet: []types.PropertySpec{{Type: "Folder", PathSet: []string{"name"}}},
		}}
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				for {
					_, first := views.CreateContainerView(t.Context(), c.ServiceContent.RootFolder, nil, true)
					_, second := methods.CreateFilter(t.Context(), c.Client.Client, filter)
					if first != nil || second != nil {
						return
					}
				}
			})
		}
		before := s.Calls()["CreateFilter"]
		eventually(t, "filters are created", func() bool { return s.Calls()["CreateFilter"] > before+20 })
		s.ExpireSessions()
		calls.Wait()
	}
}

// A client that logs in again after its session has expired reads everything while tasks run.
func TestViewsDuringTasks(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	var stop atomic.Bool
	var watchers sync.WaitGroup
	defer func() {
		stop.Store(true)
		watchers.Wait()
	}()
	for range 4 {
		watcher := connect(t, s, "")
		watchers.Go(func() {
			for !stop.Load() {
				made, err := view.NewManager(watcher.Client.Client).CreateContainerView(t.Context(), watcher.ServiceContent.RootFolder, nil, true)
				if err == nil {
					err = made.Destroy(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 10 {
		name := fmt.Sprintf("vm-%d", i)
		c.powerOn(c.clone(name, spec))
		must(0, s.PowerOffVM(name))(t)
		must(0, s.DestroyVM(name))(t)
	}
}

func TestExpiredSessions(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c, watcher := connect(t, s, "dc-1"), connect(t, s, "")
	rc := rest.NewClient(c.Client.Client)
	must(0, rc.Login(t.Context(), userinfo(s)))(t)
	manager := tags.NewManager(rc)
	must(manager.ListTags(t.Context()))(t)
	st := watcher.follow(map[string][]string{"VirtualMachine": {"name"}})
	eventually(t, "the stream waits", func() bool { return s.Calls()["WaitForUpdatesEx"] == 2 })

	s.ExpireSessions()
	select {
	case <-st.ended:
		if !isFault(st.err, &types.NotAuthenticated{}) {
			t.Errorf("the stream ended with %v", st.err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the stream continues")
	}
	for range 2 {
		if _, err := methods.GetCurrentTime(t.Context(), c.Client.Client); !isSOAPFault[types.NotAuthenticated](err) {
			t.Errorf("a call: error is %v", err)
		}
		if _, err := c.template2(); !isSOAPFault[types.NotAuthenticated](err) {
			t.Errorf("a property read: error is %v", err)
		}
		if _, err := manager.ListTags(t.Context()); err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("a REST call: error is %v", err)
		}
	}
	if user, err := c.SessionManager.UserSession(t.Context()); user != nil || err != nil {
		t.Errorf("session is %v, %v", user, err)
	}
	must(0, c.Login(t.Context(), userinfo(s)))(t)
	must(0, rc.Login(t.Context(), userinfo(s)))(t)
	must(methods.GetCurrentTime(t.Context(), c.Client.Client))(t)
	must(manager.ListTags(t.Context()))(t)
}

func (c *client) template2() (any, error) {
	return c.finder.VirtualMachine(c.t.Context(), "templates/"+simulator.TemplateName)
}

func TestResponseDelay(t *testing.T) {
	t.Parallel()
	slow, fast := simulator.Start(t, simulator.ThreeZones()), simulator.Start(t, simulator.ThreeZones())
	late, prompt := connect(t, slow, ""), connect(t, fast, "")
	rc := rest.NewClient(late.Client.Client)
	must(0, rc.Login(t.Context(), userinfo(slow)))(t)
	const delay = 200 * time.Millisecond
	slow.SetDelay(delay)
	start := time.Now()
	must(methods.GetCurrentTime(t.Context(), late.Client.Client))(t)
	if took := time.Since(start); took < delay {
		t.Errorf("the slow server responds in %s", took)
	}

	// Calls do not block each other, not even REST calls: all arrive before the first response.
	slow.SetDelay(time.Hour)
	const list = "REST GET /rest/com/vmware/cis/tagging/tag"
	lists, answers := slow.Calls()[list], make(chan error, 8)
	for range cap(answers) {
		go func() { _, err := tags.NewManager(rc).ListTags(t.Context()); answers <- err }()
	}
	eventually(t, "the calls have arrived", func() bool { return slow.Calls()[list] == lists+cap(answers) })
	must(methods.GetCurrentTime(t.Context(), prompt.Client.Client))(t) // the other server is not slow
	slow.SetDelay(0)
	for range cap(answers) {
		must(0, <-answers)(t)
	}

	slow.SetDelay(time.Hour)
	answered := make(chan error, 1)
	calls := slow.Calls()["CurrentTime"]
	go func() { _, err := methods.GetCurrentTime(t.Context(), late.Client.Client); answered <- err }()
	eventually(t, "the call has arrived", func() bool { return slow.Calls()["CurrentTime"] > calls })
	slow.SetDelay(0)
	must(0, <-answered)(t)
}

func TestDown(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c, watcher := connect(t, s, "dc-1"), connect(t, s, "")
	st := watcher.follow(map[string][]string{"VirtualMachine": {"name"}})
	eventually(t, "the stream waits", func() bool { return s.Calls()["WaitForUpdatesEx"] == 2 })
	s.HoldTasks("CloneVM_Task")
	task := c.startClone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))

	s.SetDown(true)
	select {
	case <-st.ended:
		if st.err == nil || soap.IsSoapFault(st.err) {
			t.Errorf("the stream ended with %v", st.err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the stream continues")
	}
	counted := s.Calls()["CurrentTime"]
	for range 3 {
		if _, err := methods.GetCurrentTime(t.Context(), c.Client.Client); err == nil {
			t.Error("a server that is down responds")
		}
	}
	if n := s.Calls()["CurrentTime"]; n != counted {
		t.Errorf("%d calls came in", n-counted)
	}

	s.SetDown(false)
	s.ReleaseTasks("CloneVM_Task")
	must(0, task.Wait(t.Context()))(t) // same session, same task
}

// A call whose response is lost has its effect.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	vm := c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	s.LoseAnswers("PowerOnVM_Task", 1)
	if _, err := vm.PowerOn(t.Context()); err == nil || soap.IsSoapFault(err) {
		t.Errorf("with a lost response the error is %v", err)
	}
	eventually(t, "the VM is powered on nevertheless", func() bool {
		vm, _ := s.VM("vm")
		return vm.Power == "poweredOn"
	})
	eventually(t, "its task ends", func() bool { return len(s.RunningTasks()) == 0 })
	must(0, must(vm.PowerOff(t.Context()))(t).Wait(t.Context()))(t)
	must(0, must(vm.PowerOn(t.Context()))(t).Wait(t.Context()))(t) // only one response is lost

	s.LoseAnswers("CurrentTime", -1)
	for range 3 {
		if _, err := methods.GetCurrentTime(t.Context(), c.Client.Client); err == nil {
			t.Error("the server responded")
		}
	}
	s.LoseAnswers("CurrentTime", 0)
	must(methods.GetCurrentTime(t.Context(), c.Client.Client))(t)
}

func TestCallsAreCountedOnce(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	if calls := s.Calls(); len(calls) != 0 {
		t.Errorf("before any client: %v", calls)
	}
	c := connect(t, s, "")
	rc := rest.NewClient(c.Client.Client)
	must(0, rc.Login(t.Context(), userinfo(s)))(t)
	s.ResetCalls()
	manager := tags.NewManager(rc)
	ids := must(manager.ListTags(t.Context()))(t)
	for _, id := range ids {
		must(manager.GetTag(t.Context(), id))(t)
	}
	root := c.ServiceContent.RootFolder
	must(0, manager.AttachMultipleTagsToObject(t.Context(), ids[:1], root))(t)
	must(methods.GetCurrentTime(t.Context(), c.Client.Client))(t)
	must(methods.GetCurrentTime(t.Context(), c.Client.Client))(t)
	must(0, s.DetachTag("region-1", "/dc-1"))(t) // the server's own calls are not counted
	want := map[string]int{
		"REST GET /rest/com/vmware/cis/tagging/tag":                                                     1,
		"REST GET /rest/com/vmware/cis/tagging/tag/{id}":                                                4,
		"REST POST /rest/com/vmware/cis/tagging/tag-association?~action=attach-multiple-tags-to-object": 1,
		"CurrentTime": 2,
	}
	got := s.Calls()
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %d calls, want %d", name, got[name], n)
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("also counted %v", got)
	}
}

func TestListenAddress(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.Layout{}, simulator.WithListen("0.0.0.0:0"))
	if !strings.HasPrefix(s.Host(), "127.0.0.1:") {
		t.Errorf("host is %s", s.Host())
	}
	connect(t, s, "")
	if _, err := simulator.New(simulator.Layout{}, simulator.WithListen(s.Host())); err == nil {
		t.Error("two servers on one port")
	}
	if _, err := simulator.New(simulator.Layout{}, simulator.WithListen("nonsense")); err == nil {
		t.Error("listens on nonsense")
	}
}

func TestPlainHTTPIsRefused(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.Layout{})
	request := must(http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.Host()+"/about", nil))(t)
	res, err := http.DefaultClient.Do(request)
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("status is %d", res.StatusCode)
		}
	}
}

func TestStoragePolicies(t *testing.T) {
	t.Parallel()
	stock := connect(t, simulator.Start(t, simulator.Layout{}, simulator.WithStockPolicies()), "")
	policies := must(must(pbm.NewClient(t.Context(), stock.Client.Client))(t).ProfileMap(t.Context()))(t)
	if len(policies.Name) == 0 {
		t.Error("no storage policies were found")
	}
	own := connect(t, simulator.Start(t, simulator.Layout{Policies: []simulator.StoragePolicy{{Name: "gold"}}}), "")
	policies = must(must(pbm.NewClient(t.Context(), own.Client.Client))(t).ProfileMap(t.Context()))(t)
	if len(policies.Profile) != 1 || policies.Name["gold"] == nil {
		t.Errorf("the storage policies are %v, not those of the layout", policies.Name)
	}
}
