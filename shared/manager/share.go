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
	// knownStrings is the number of cached strings. There are far fewer names of kinds, labels, conditions and clusters; strings
	// that only one object has merely evict each other.
	knownStrings = 1 << 14
	// knownMaps is the number of cached maps. Those of a cluster's machines are decoded one after the other.
	knownMaps = 1 << 12
	// longestShared is the maximum length of a cached string, in bytes: all of them have 4 MiB at most.
	longestShared = 256
	// largestShared is the maximum size of a cached map, in bytes: all of them have 8 MiB at most. Larger ones, such as the annotations of
	// objects written by kubectl apply, belong to one object and would be kept after its deletion.
	largestShared = 2048
)

// sharer makes equal strings of cached objects, and equal labels and annotations, share memory. Otherwise each decoded object has
// its own copy of values that thousands of others have too. It also trims the capacity of slices. Sharing is safe because cached
// objects must never be modified.
type sharer struct {
	mu      sync.Mutex
	seed    maphash.Seed
	strings []string
	maps    []map[string]string
}

func newSharer() *sharer {
	return &sharer{seed: maphash.MakeSeed(), strings: make([]string, knownStrings), maps: make([]map[string]string, knownMaps)}
}

// of adds sharing to the cache's transforms, after all others.
func (s *sharer) of(options *cache.Options) {
	options.DefaultTransform = s.after(options.DefaultTransform)
	for kind, how := range options.ByObject {
		if how.Transform != nil {
			how.Transform = s.after(how.Transform)
			options.ByObject[kind] = how
		}
	}
}

// after returns a transform that shares memory after another transform, which may be nil.
func (s *sharer) after(transform toolscache.TransformFunc) toolscache.TransformFunc {
	return func(o any) (any, error) {
		if transform != nil {
			var err error
			if o, err = transform(o); err != nil {
				return o, err
			}
		}
		if object, ok := o.(client.Object); ok { // not a tombstone
			s.mu.Lock()
			defer s.mu.Unlock()
			s.share(reflect.ValueOf(object))
		}
		return o, nil
	}
}

// one returns an equal string that is shared if possible.
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

// share replaces the shareable values in a value recursively.
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

// clip trims the capacity of a slice: decoders grow slices by doubling.
func clip(v reflect.Value) {
	if !v.CanSet() || v.IsNil() || v.Cap() == v.Len() {
		return
	}
	exact := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(exact, v)
	v.Set(exact)
}

// shareMap replaces a map of strings, such as labels and annotations, by a shared one.
func (s *sharer) shareMap(v reflect.Value) {
	texts, ok := v.Interface().(map[string]string)
	if !ok || len(texts) == 0 {
		return
	}
	sum, size := uint64(0), 0 // independent of the order
	for key, value := range texts {
		sum += maphash.String(s.seed, key) ^ 3*maphash.String(s.seed, value)
		size += len(key) + len(value)
	}
	at := &s.maps[sum%knownMaps]
	if size > largestShared {
		at = new(map[string]string)
	}
	if !maps.Equal(*at, texts) {
		*at = make(map[string]string, len(texts))
		for key, value := range texts {
			(*at)[s.one(key)] = s.one(value)
		}
	}
	v.Set(reflect.ValueOf(*at))
}
