// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	fd "github.com/faultline-io/faultline/shared/failuredomain"
)

// bound returns bindings from pairs of key and physical domain.
func bound(pairs ...string) []fd.Binding {
	var bindings []fd.Binding
	for i := 0; i < len(pairs); i += 2 {
		bindings = append(bindings, fd.Binding{Machine: fmt.Sprintf("m%d", i/2), Key: pairs[i], Physical: pairs[i+1]})
	}
	return bindings
}

func TestBind(t *testing.T) {
	t.Parallel()
	full := fd.Domain{Name: "a", Capacity: room(0)}
	tests := map[string]struct {
		physical []fd.Domain
		bound    []fd.Binding
		key      string // storage-0 if ""
		required bool
		want     string
		errs     []error
	}{
		"a first machine takes the first by name": {physical: active("b", "a"), want: "a"},
		"machines of one key share":               {physical: active("a", "b", "c"), bound: bound("storage-0", "b"), want: "b"},
		"another key keeps off":                   {physical: active("a", "b"), bound: bound("storage-1", "a"), want: "b"},
		"another class does not mind":             {physical: active("a"), bound: bound("log-0", "a"), required: true, want: "a"},
		"of free ones the least loaded":           {physical: active("a", "b"), bound: bound("log-0", "a"), want: "b"},
		"of own ones the most shared":             {physical: active("a", "b"), bound: bound("storage-0", "a", "storage-0", "b", "storage-0", "b"), want: "b"},
		"own before free, though fuller":          {physical: active("a", "b"), bound: bound("storage-0", "b", "log-0", "b"), want: "b"},
		"own full: a second one":                  {physical: append(active("b"), full), bound: bound("storage-0", "a"), required: true, want: "b"},
		"own cordoned: a second one":              {physical: []fd.Domain{{Name: "a", State: fd.Cordoned}, {Name: "b"}}, bound: bound("storage-0", "a"), want: "b"},
		"own evicting: a second one":              {physical: []fd.Domain{{Name: "a", State: fd.Evicting}, {Name: "b"}}, bound: bound("storage-0", "a"), want: "b"},
		"own but shared already: a free one":      {physical: active("a", "b"), bound: bound("storage-0", "a", "storage-1", "a"), want: "b"},
		"sharing as a last resort, least loaded":  {physical: active("a", "b"), bound: bound("storage-1", "a", "storage-1", "a", "storage-2", "b"), want: "b"},
		"last resort counts every class":          {physical: active("a", "b"), bound: bound("storage-1", "a", "storage-2", "b", "log-0", "a"), want: "b"},
		"last resort has capacity":                {physical: append(active("b"), full), bound: bound("storage-2", "b", "storage-3", "b"), want: "b"},
		"last resort is active":                   {physical: []fd.Domain{{Name: "a", State: fd.Cordoned}, {Name: "b"}}, bound: bound("storage-2", "b", "storage-3", "b"), want: "b"},
		"required: sharing is refused":            {physical: active("a"), bound: bound("storage-1", "a"), required: true, errs: []error{fd.ErrNoDomain, fd.ErrNoCapacity}},
		"required: sharing is refused to the end": {physical: active("a"), bound: bound("storage-0", "a", "storage-1", "a"), required: true, errs: []error{fd.ErrNoDomain, fd.ErrNoCapacity}},
		"required: own is full":                   {physical: append(active("b"), full), bound: bound("storage-0", "a", "storage-1", "b"), required: true, errs: []error{fd.ErrNoCapacity}},
		"required: a free one is full":            {physical: append(active("b"), full), bound: bound("storage-1", "b"), required: true, errs: []error{fd.ErrNoCapacity}},
		"no domains":                              {errs: []error{fd.ErrNoDomain}},
		"none active":                             {physical: []fd.Domain{{Name: "a", State: fd.Cordoned}}, errs: []error{fd.ErrNoDomain}},
		"none with room":                          {physical: []fd.Domain{full}, errs: []error{fd.ErrNoCapacity}},
		"bindings to unlisted domains":            {physical: active("a"), bound: bound("storage-1", "gone", "storage-1", ""), required: true, want: "a"},
		"a machine without a key is mere load":    {physical: active("a"), bound: bound("", "a"), key: "blue", required: true, want: "a"},
		"keys without index are of one class":     {physical: active("a", "b"), bound: bound("blue", "a"), key: "green", want: "b"},
		"a class may have dashes":                 {physical: active("a", "b"), bound: bound("my-db-1", "a"), key: "my-db-0", want: "b"},
		"a class is not its prefix":               {physical: active("a"), bound: bound("my-0", "a"), key: "my-db-0", required: true, want: "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := test.key
			if key == "" {
				key = "storage-0"
			}
			got, err := fd.Bind(test.physical, test.bound, key, test.required)
			if got != test.want || (err == nil) != (len(test.errs) == 0) {
				t.Errorf("got %q, %v, want %q, %v", got, err, test.want, test.errs)
			}
			for _, sentinel := range []error{fd.ErrNoDomain, fd.ErrNoCapacity} {
				wanted := errors.Is(errors.Join(test.errs...), sentinel)
				if errors.Is(err, sentinel) != wanted {
					t.Errorf("error %v: matches %q: %t, want %t", err, sentinel, !wanted, wanted)
				}
			}
		})
	}
}

func TestBindRequiresKey(t *testing.T) {
	t.Parallel()
	if got, err := fd.Bind(active("a"), nil, "", false); err == nil {
		t.Errorf("got %q, want an error", got)
	}
}

// Machines bound in sequence never share a domain with another key if that is forbidden, and never use one that is not Active or
// is full.
func TestBindSequence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		physical := drawDomains(t)
		required := rapid.Bool().Draw(t, "required")
		var bindings []fd.Binding
		for i, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"storage-0", "storage-1", "storage-2", "log-0"}), 0, 20).Draw(t, "keys") {
			got, err := fd.Bind(rapid.Permutation(physical).Draw(t, "physical"), rapid.Permutation(bindings).Draw(t, "bound"), key, required)
			again, _ := fd.Bind(physical, bindings, key, required)
			if got != again {
				t.Fatalf("got %q in one order and %q in another", got, again)
			}
			if err != nil {
				continue
			}
			takeRoom(t, physical, got)
			bindings = append(bindings, fd.Binding{Machine: fmt.Sprint(i), Key: key, Physical: got})
		}
		if required {
			checkNoSharing(t, bindings)
		}
	})
}

// takeRoom subtracts one machine from the capacity of the named domain, which must be Active and have some.
func takeRoom(t *rapid.T, domains []fd.Domain, name string) {
	found := false
	for i := range domains {
		if domains[i].Name != name {
			continue
		}
		found = true
		if domains[i].State != "" && domains[i].State != fd.Active {
			t.Fatalf("chose %s, which is %s", name, domains[i].State)
		}
		if domains[i].Capacity == nil {
			continue
		}
		if *domains[i].Capacity <= 0 {
			t.Fatalf("chose %s, which is full", name)
		}
		*domains[i].Capacity--
	}
	if !found {
		t.Fatalf("chose %q, which is not listed", name)
	}
}

func checkNoSharing(t *rapid.T, bindings []fd.Binding) {
	storage := map[string]string{}
	for _, binding := range bindings {
		if binding.Key == "log-0" {
			continue
		}
		if other, ok := storage[binding.Physical]; ok && other != binding.Key {
			t.Fatalf("%s holds %s and %s: %+v", binding.Physical, other, binding.Key, bindings)
		}
		storage[binding.Physical] = binding.Key
	}
}

func TestBindInRollout(t *testing.T) {
	t.Parallel()
	current := []fd.Binding{{Machine: "m0", Key: "x-0", Physical: "a"}, {Machine: "m4", Key: "y-0", Physical: "d"}}
	outdated := []fd.Binding{
		{Machine: "m1", Key: "x-0", Physical: "b"}, {Machine: "m2", Key: "x-0", Physical: "b"}, {Machine: "m3", Key: "y-0", Physical: "c"},
	}
	for key, want := range map[string]string{"x-0": "a", "x-1": "c"} {
		if got, err := fd.BindInRollout(active("a", "b", "c", "d"), current, outdated, key, false); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", key, got, err, want)
		}
	}
}
