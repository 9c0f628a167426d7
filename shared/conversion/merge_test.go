// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ kept, then, now, want string }{
		"nothing changed":                         {kept: "{a: 1, b: 2}", then: "{a: 1}", now: "{a: 1}", want: "{a: 1, b: 2}"},
		"a field changed":                         {kept: "{a: 1, b: 2}", then: "{a: 1}", now: "{a: 3}", want: "{a: 3, b: 2}"},
		"a field is new":                          {kept: "{a: 1, b: 2}", then: "{a: 1}", now: "{a: 1, c: 3}", want: "{a: 1, b: 2, c: 3}"},
		"a field was taken away":                  {kept: "{a: 1, b: 2, c: 3}", then: "{a: 1, b: 2}", now: "{a: 1}", want: "{a: 1, c: 3}"},
		"a field was added that was kept":         {kept: "{a: 1, b: 2}", then: "{a: 1}", now: "{a: 1, b: 3}", want: "{a: 1, b: 3}"},
		"a field that is derived stays away":      {kept: "{a: 1}", then: "{a: 1, derived: 1}", now: "{a: 1, derived: 1, c: 3}", want: "{a: 1, c: 3}"},
		"a field that was derived changed":        {kept: "{a: 1}", then: "{a: 1, derived: 1}", now: "{a: 1, derived: 2}", want: "{a: 1, derived: 2}"},
		"a field inside changed":                  {kept: "{a: {b: 1, c: 2}}", then: "{a: {b: 1}}", now: "{a: {b: 3}}", want: "{a: {b: 3, c: 2}}"},
		"what it belongs to was taken away":       {kept: "{a: {b: 1, c: 2}}", then: "{a: {b: 1}}", now: "{}", want: "{}"},
		"a field is of another type":              {kept: "{a: {b: 1, c: 2}}", then: "{a: {b: 1}}", now: "{a: [1]}", want: "{a: [1]}"},
		"a list without names changed":            {kept: "[{a: 1, b: 2}]", then: "[{a: 1}]", now: "[{a: 1}, {a: 2}]", want: "[{a: 1}, {a: 2}]"},
		"an element was put in front":             {kept: "[{name: x, b: 2}]", then: "[{name: x}]", now: "[{name: z}, {name: x}]", want: "[{name: z}, {name: x, b: 2}]"},
		"an element changed":                      {kept: "[{id: x, a: 1, b: 2}]", then: "[{id: x, a: 1}]", now: "[{id: x, a: 3}]", want: "[{id: x, a: 3, b: 2}]"},
		"an element was taken away":               {kept: "[{key: x, b: 2}, {key: z, b: 3}]", then: "[{key: x}, {key: z}]", now: "[{key: z}]", want: "[{key: z, b: 3}]"},
		"two elements have one name":              {kept: "[{name: x, b: 2}, {name: x}]", then: "[{name: x}, {name: x}]", now: "[{name: x}]", want: "[{name: x}]"},
		"a list in another order changed nothing": {kept: "[{name: z, b: 2}, {name: x}]", then: "[{name: x}, {name: z}]", now: "[{name: x}, {name: z}]", want: "[{name: z, b: 2}, {name: x}]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			read := func(text string) (value any) {
				g.Expect(yaml.Unmarshal([]byte(text), &value)).To(Succeed())
				return value
			}
			g.Expect(merge(read(c.kept), read(c.then), read(c.now))).To(Equal(read(c.want)))
		})
	}
}
