// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"hash/maphash"
	"maps"
	"reflect"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// knownStrings is how many strings are remembered. Names of kinds, labels, conditions and clusters are far fewer; those that are of one
	// object only push one another out.
	knownStrings = 1 << 14
	// knownMaps is how many maps are remembered: those of a cluster's machines come one after the other.
	knownMaps = 1 << 12
	// longestShared is the length of the longest string that is worth looking for.
	longestShared = 256
)

// sharer has equal strings of objects, and equal labels and annotations, share their memory: each object that is decoded has copies of its
// own of what is the same in thousands of others. Slices get no more room than they need. Nobody may write to an object of a cache, so that
// nobody writes to another's labels.
type sharer struct {
	mu      sync.Mutex
	seed    maphash.Seed
	strings []string
	maps    []map[string]string
}

func newSharer() *sharer {
	return &sharer{seed: maphash.MakeSeed(), strings: make([]string, knownStrings), maps: make([]map[string]string, knownMaps)}
}

// of has the objects of a cache share what is equal, after everything else that becomes of them.
func (s *sharer) of(options *cache.Options) {
	options.DefaultTransform = s.after(options.DefaultTransform)
	for kind, how := range options.ByObject {
		if how.Transform != nil {
			how.Transform = s.after(how.Transform)
			options.ByObject[kind] = how
		}
	}
}

// after returns a transformation of what a cache keeps that comes after another one, which may be nil.
func (s *sharer) after(transform toolscache.TransformFunc) toolscache.TransformFunc {
	return func(o any) (any, error) {
		if transform != nil {
			var err error
			if o, err = transform(o); err != nil {
				return o, err
			}
		}
		if object, ok := o.(client.Object); ok { // and no tombstone
			s.mu.Lock()
			defer s.mu.Unlock()
			s.share(reflect.ValueOf(object))
		}
		return o, nil
	}
}

// one is a string equal to this one, which others have too.
func (s *sharer) one(text string) string {
	if text == "" || len(text) > longestShared {
		return text
	}
	at := &s.strings[maphash.String(s.seed, text)%knownStrings]
	if *at != text {
		*at = text
	}
	return *at
}

// share goes through all that can be set in a value.
func (s *sharer) share(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			s.share(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				s.share(field)
			}
		}
	case reflect.Slice:
		clip(v)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			s.share(v.Index(i))
		}
	case reflect.Map:
		s.shareMap(v)
	case reflect.String:
		v.SetString(s.one(v.String()))
	default:
	}
}

// clip takes the room off a slice that a decoder has left for more: it grows them by doubling.
func clip(v reflect.Value) {
	if !v.CanSet() || v.IsNil() || v.Cap() == v.Len() {
		return
	}
	exact := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(exact, v)
	v.Set(exact)
}

// shareMap replaces a map of strings, as labels and annotations are.
func (s *sharer) shareMap(v reflect.Value) {
	texts, ok := v.Interface().(map[string]string)
	if !ok || len(texts) == 0 {
		return
	}
	sum := uint64(0) // whatever the order
	for key, value := range texts {
		sum += maphash.String(s.seed, key) ^ 3*maphash.String(s.seed, value)
	}
	at := &s.maps[sum%knownMaps]
	if !maps.Equal(*at, texts) {
		*at = make(map[string]string, len(texts))
		for key, value := range texts {
			(*at)[s.one(key)] = s.one(value)
		}
	}
	v.Set(reflect.ValueOf(*at))
}
