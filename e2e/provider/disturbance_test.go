// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package provider

import (
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

// fakeSystem is a system with a fault that affects some of its parts.
type fakeSystem struct {
	parts []string
	hit   []string
	calls int
}

func (o *fakeSystem) targets() [][]string {
	var all [][]string
	for _, part := range o.parts {
		all = append(all, []string{part})
	}
	return all
}

func (o *fakeSystem) set(on bool, target []string) error {
	o.calls++
	name := "all"
	if target != nil {
		name = target[0]
		if !slices.Contains(o.parts, name) {
			return errors.New("no such part")
		}
	}
	o.hit = slices.DeleteFunc(o.hit, func(hit string) bool { return hit == name })
	if on {
		o.hit = append(o.hit, name)
	}
	return nil
}

func TestFaultMovesAndEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := &fakeSystem{parts: []string{"a", "b", "c"}}
	d := &Disturbance{Set: o.set, Targets: o.targets, Simultaneous: []int{2}}
	random := Random(1, "test")
	g.Expect(d.Begin()).To(Succeed())
	g.Expect(o.hit).To(BeEmpty())
	for range 20 {
		g.Expect(d.Disturb(random)).To(Succeed())
		g.Expect(o.hit).To(HaveLen(2))
	}
	g.Expect(d.EndDisturbances()).To(Succeed())
	g.Expect(o.hit).To(BeEmpty())
}

func TestFaultOfDeletedTargetIsIgnored(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := &fakeSystem{parts: []string{"a"}}
	d := &Disturbance{Set: o.set, Targets: o.targets, Simultaneous: []int{1}}
	g.Expect(d.Disturb(Random(1, "test"))).To(Succeed())
	o.parts = nil
	g.Expect(d.EndDisturbances()).To(Succeed())
	g.Expect(o.calls).To(Equal(2))
}

func TestStayingFaultEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := &fakeSystem{parts: []string{"a", "b", "c"}}
	d := &Disturbance{Set: o.set, Targets: o.targets, Simultaneous: []int{1}, Stays: true}
	random := Random(1, "test")
	for range 20 {
		g.Expect(d.Disturb(random)).To(Succeed())
	}
	g.Expect(o.hit).To(ConsistOf("a", "b", "c"))
	g.Expect(d.EndDisturbances()).To(Succeed())
	g.Expect(o.hit).To(BeEmpty())
}

func TestBriefFaultEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := make(chan bool, 2)
	d := &Disturbance{Set: func(on bool, _ []string) error { made <- on; return nil }, Targets: func() [][]string { return [][]string{{"a"}} }, Simultaneous: []int{1}, Brief: true}
	g.Expect(d.Disturb(Random(1, "test"))).To(Succeed())
	g.Expect(d.EndDisturbances()).To(Succeed())
	g.Expect([]bool{<-made, <-made}).To(Equal([]bool{true, false}))
}

func TestFaultWithoutTargetsLastsWholeRun(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := &fakeSystem{}
	d := &Disturbance{Set: o.set}
	g.Expect(d.Begin()).To(Succeed())
	g.Expect(d.Disturb(Random(1, "test"))).To(Succeed())
	g.Expect(d.EndDisturbances()).To(Succeed())
	g.Expect(o.hit).To(Equal([]string{"all"}))
	g.Expect((&Disturbance{}).Begin()).To(Succeed(), "no fault")
}
