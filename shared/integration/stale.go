// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Stale is a client that reads like a cache whose watches lag: it repeats its first response to each read.
type Stale struct {
	client.Client
	// Current reports whether an object or a list is read as it is; nil means none.
	Current func(runtime.Object) bool

	mu    sync.Mutex
	first map[string]runtime.Object
}

// Get implements client.Reader.
func (s *Stale) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return s.read(o, key.String(), func() error { return s.Client.Get(ctx, key, o, opts...) })
}

// List implements client.Reader.
func (s *Stale) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	of := client.ListOptions{}
	of.ApplyOptions(opts)
	return s.read(list, fmt.Sprint(of.Namespace, of.LabelSelector, of.FieldSelector), func() error { return s.Client.List(ctx, list, opts...) })
}

func (s *Stale) read(o runtime.Object, which string, from func() error) error {
	if s.Current != nil && s.Current(o) {
		return from()
	}
	which = fmt.Sprintf("%T %s %s", o, o.GetObjectKind().GroupVersionKind(), which)
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.first[which]; ok {
		reflect.ValueOf(o).Elem().Set(reflect.ValueOf(first.DeepCopyObject()).Elem())
		return nil
	}
	if err := from(); err != nil {
		return err
	}
	if s.first == nil {
		s.first = map[string]runtime.Object{}
	}
	s.first[which] = o.DeepCopyObject()
	return nil
}

// Requests counts the reads and patches of the clients that it returns.
type Requests struct{ Reads, Writes, StatusWrites int }

// Counted returns a client whose requests are counted.
func (r *Requests) Counted(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			r.Reads++
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			r.Reads++
			return c.List(ctx, list, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			r.Writes++
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			r.StatusWrites++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
}
