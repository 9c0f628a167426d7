// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func TestFleetReport(t *testing.T) {
	reached := Fleet{
		Machines: 200, Hosts: 200, Associated: 4.9, Peak: 99 << 20,
		Association: Cost{Requests: Counts{"patch baremetalhosts": 400, "patch metal3machines": 800, "create events": 999}},
	}
	for name, test := range map[string]struct {
		change func(*Fleet)
		missed string
	}{
		"all reached":       {change: func(*Fleet) {}},
		"too late":          {func(f *Fleet) { f.Associated = 5 }, "seconds until all have a host"},
		"a request more":    {func(f *Fleet) { f.Association.Requests["get secrets"]++ }, "requests a machine until it has its host"},
		"a list":            {func(f *Fleet) { f.Association.Requests = Counts{"list baremetalhosts": 1} }, "lists of hosts"},
		"too much memory":   {func(f *Fleet) { f.Peak = 100 << 20 }, "MiB of the manager"},
		"a size of no aims": {change: func(f *Fleet) { f.Machines, f.Hosts, f.Associated = 201, 402, 99 }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			fleet := reached
			fleet.Association.Requests = reached.Association.Requests.plus(nil)
			test.change(&fleet)
			text := HostResults{Provider: "metal3", Fleets: []Fleet{fleet}}.report()
			if test.missed == "" {
				g.Expect(text).NotTo(ContainSubstring(missed))
				return
			}
			g.Expect(text).To(MatchRegexp(`(?m)%s.*MISSED$`, test.missed))
		})
	}
	NewWithT(t).Expect(HostResults{}.report()).To(ContainSubstring(unmeasured))
}

func TestPercentile(t *testing.T) {
	g := NewWithT(t)
	g.Expect(percentile(nil, 99)).To(BeZero())
	g.Expect(percentile([]float64{1}, 99)).To(Equal(1.0))
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	g.Expect(percentile(hundred, 99)).To(Equal(99.0))
	g.Expect(percentile(hundred[:50], 50)).To(Equal(25.0))
}

func TestWaiting(t *testing.T) {
	g := NewWithT(t)
	w := newWaiting([]string{"a", "b"}, provisioned)
	machine := func(name string) *infrav1.Metal3Machine {
		m := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Because", Message: "of this"}}
		return m
	}
	done := machine("a")
	done.Status.Initialization.Provisioned = new(true)
	w.note(machine("stranger"))
	w.note(done)
	w.note(done)
	w.note(machine("b"))
	g.Expect(w.seen).To(HaveLen(1))
	g.Expect(w.seen["a"]).To(BeTemporally("~", time.Now(), time.Minute))
	g.Expect(w.still(errors.New("late"))).To(MatchError(And(ContainSubstring("1 are not ready, the first is b"), ContainSubstring("Ready Because: of this"))))
}
