// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Account is a user name with its password.
type Account struct{ Username, Password string }

// AdminClient calls vCenter with its own account.
type AdminClient struct {
	// Client makes SOAP calls.
	Client   *vim25.Client
	registry *simulator.Registry
	handler  http.Handler
	account  Account
	tags     tagStore
	results  *taskResults
}

// tagStore is the in-process interface of vcsim's REST service.
type tagStore interface {
	sync.Locker
	AttachedTags(types.ManagedObjectReference) ([]string, types.BaseMethodFault)
	DetachTag(types.ManagedObjectReference, string) types.BaseMethodFault
}

// NewAdminClient connects to the SOAP and REST services of vCenter.
func NewAdminClient(service *simulator.Service, rest http.Handler, account Account) (*AdminClient, error) {
	client, err := vim25.NewClient(context.Background(), service)
	if err != nil {
		return nil, fmt.Errorf("connecting within the process: %w", err)
	}
	tags, ok := rest.(tagStore)
	if !ok {
		return nil, fmt.Errorf("%T does not provide tags within the process", rest)
	}
	return &AdminClient{
		Client:   client,
		registry: service.Context.Map,
		handler:  rest,
		account:  account,
		tags:     tags,
		results:  newTaskResults(),
	}, nil
}

// Await waits for a task and returns its result. The registry notifies it: a property collector would take 20 ms.
func (a *AdminClient) Await(ref types.ManagedObjectReference) (types.AnyType, error) {
	info := a.results.wait(ref, func() (types.TaskInfo, bool) {
		t, ok := a.registry.Get(ref).(*simulator.Task)
		if !ok {
			return types.TaskInfo{}, false
		}
		var info types.TaskInfo
		a.registry.WithLock(&simulator.Context{Map: a.registry}, t, func() { info = t.Info })
		return info, taskFinished(info)
	})
	if info.Error != nil {
		return nil, task.Error{LocalizedMethodFault: info.Error}
	}
	return info.Result, nil
}

// AwaitRef is Await for tasks that create an object.
func (a *AdminClient) AwaitRef(ref types.ManagedObjectReference) (types.ManagedObjectReference, error) {
	result, err := a.Await(ref)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	made, ok := result.(types.ManagedObjectReference)
	if !ok {
		return made, fmt.Errorf("task %s returned %T, not an object", ref.Value, result)
	}
	return made, nil
}

// PostEvent posts an event in vCenter.
func (a *AdminClient) PostEvent(event types.BaseEvent) {
	_, _ = methods.PostEvent(context.Background(), a.Client, &types.PostEvent{This: *a.Client.ServiceContent.EventManager, EventToPost: event})
}

// REST calls the REST API. Each call logs in, so that it is not affected by expired sessions.
func (a *AdminClient) REST(method, path string, in, out any) error {
	var session string
	if err := a.exchange(http.MethodPost, "/com/vmware/cis/session", "", nil, &session); err != nil {
		return err
	}
	return a.exchange(method, path, session, in, out)
}

func (a *AdminClient) exchange(method, path, session string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, "/rest"+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("calling %s: %w", path, err)
	}
	request.SetBasicAuth(a.account.Username, a.account.Password)
	request.Header.Set("vmware-api-session-id", session)
	answer := httptest.NewRecorder()
	a.handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		return fmt.Errorf("calling %s %s: status %d: %s", method, path, answer.Code, answer.Body.String())
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Body.Bytes(), &struct{ Value any }{out})
}

// ObserveTask is called for every change of a task, while the task is locked.
func (a *AdminClient) ObserveTask(t *mo.Task) { a.results.update(t) }

// taskResults notifies waiters of tasks.
type taskResults struct {
	mu      sync.Mutex
	waiting map[types.ManagedObjectReference][]chan types.TaskInfo
}

func newTaskResults() *taskResults {
	return &taskResults{waiting: map[types.ManagedObjectReference][]chan types.TaskInfo{}}
}

// wait returns the final state of the task; now reports whether it has already ended.
func (r *taskResults) wait(ref types.ManagedObjectReference, now func() (types.TaskInfo, bool)) types.TaskInfo {
	done := make(chan types.TaskInfo, 1)
	r.mu.Lock()
	r.waiting[ref] = append(r.waiting[ref], done)
	r.mu.Unlock()
	if info, over := now(); over {
		return info
	}
	return <-done
}

// update is called for every change of a task, while the task is locked.
func (r *taskResults) update(t *mo.Task) {
	if !taskFinished(t.Info) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, done := range r.waiting[t.Self] {
		done <- t.Info
	}
	delete(r.waiting, t.Self)
}

// taskFinished reports whether a task has ended.
func taskFinished(info types.TaskInfo) bool {
	return info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError
}
