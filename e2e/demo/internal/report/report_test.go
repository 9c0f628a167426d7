// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
)

func example() snapshot.Snapshot {
	return snapshot.Snapshot{
		Domains: []snapshot.Domain{
			{Name: "zone-a", State: "Active", ControlPlane: true},
			{Name: "zone-b", State: "Cordoned", Reason: "DatastoreNotFound"},
			{Name: "zone-c"},
		},
		Machines: []snapshot.Machine{
			{Name: "demo-1", Role: snapshot.RoleControlPlane, Phase: "Running", Ready: true, Asked: "zone-a", Domain: "zone-a", Host: "host-1"},
			{Name: "demo-2", Role: snapshot.RoleControlPlane, Phase: "Provisioning", Asked: "zone-c"},
			{Name: "stranger", Domain: "zone-b", Host: "host-3"},
		},
	}
}

func TestFrameKeepsItsWidth(t *testing.T) {
	g := NewWithT(t)
	began := time.Now()
	p := &frame{began: began, now: example(), steps: []shownStep{
		{name: "First", ended: true, took: time.Second, notes: []string{"not shown any more"}},
		{name: "Second " + strings.Repeat("long ", 30), began: began, notes: []string{"a note"}},
	}}
	escapes := regexp.MustCompile("\x1b\\[[0-9]*m")
	for _, columns := range []int{60, 80, 133} {
		text := ""
		for _, line := range p.render(began.Add(65*time.Second), columns) {
			line = escapes.ReplaceAllString(line, "")
			g.Expect(utf8.RuneCountInString(line)).To(BeNumerically("<=", columns), line)
			text += line + "\n"
		}
		g.Expect(text).To(And(
			ContainSubstring("1:05"), ContainSubstring("✓ First"), ContainSubstring("a note"), Not(ContainSubstring("not shown")),
			ContainSubstring("● demo-1"), ContainSubstring("● stranger"), ContainSubstring("· demo-2: control plane, Provisioning, meant for zone-c"),
		))
	}
}

func TestScreenShowsTheLatest(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	s := newScreen(&out, func() (int, int) { return 80, 24 }, time.Now())
	s.Begin("One")
	s.Show(example())
	s.End(errors.New("no"))
	s.Close()
	s.Close()
	s.Note("too late")
	g.Expect(strings.LastIndex(out.String(), "✗ One")).To(BeNumerically(">", strings.LastIndex(out.String(), "▸ One")))
	g.Expect(out.String()).NotTo(ContainSubstring("too late"))
}
