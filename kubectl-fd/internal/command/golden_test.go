// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/kubectl-fd/internal/preflight"
	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

var update = flag.Bool("update", false, "write the golden files")

// shown maps the names of golden files to the functions that print their content.
func shown(t *testing.T) map[string]func(io.Writer) error {
	t.Helper()
	var clusters []report.Cluster
	for _, observed := range fixtureClusters() {
		clusters = append(clusters, report.Of(observed))
	}
	piped := render.Style{Now: fixtureNow()}
	terminal := render.Style{Now: fixtureNow(), Width: 100, Colour: true}
	deployments := []report.Deployment{{Name: "md-0", Replicas: 5}, {Name: "md-rack-1", Replicas: 1, Named: "rack-1"}}
	lose := func(names ...string) func(io.Writer) error {
		outcomes, err := report.Lose(clusters, names)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return func(w io.Writer) error { return render.Simulation(w, outcomes, piped) }
	}
	return map[string]func(io.Writer) error{
		"get.txt":          func(w io.Writer) error { return render.Tree(w, clusters, false, piped) },
		"get-wide.txt":     func(w io.Writer) error { return render.Tree(w, clusters, true, piped) },
		"get-terminal.txt": func(w io.Writer) error { return render.Tree(w, clusters, false, terminal) },
		"get.svg":          func(w io.Writer) error { return render.SVG(w, clusters[:1]) },
		"get-several.svg":  func(w io.Writer) error { return render.SVG(w, clusters) },
		"plan-status.txt": func(w io.Writer) error {
			return render.Plan(w, clusters[0], report.Plans(clusters[0], deployments), piped)
		},
		"plan-calculated.txt":       func(w io.Writer) error { return render.Plan(w, clusters[1], report.Plans(clusters[1], nil), piped) },
		"simulate-rack-3.txt":       lose("rack-3"),
		"simulate-rack-2.txt":       lose("rack-2"),
		"simulate-rack-1-and-3.txt": lose("rack-1", "rack-3"),
		"preflight.txt": func(w io.Writer) error {
			providers, err := preflight.Find([]string{"vsphere"})
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			return render.Preflight(w, preflight.Examine(providers[0], fixtureInstallation()), piped)
		},
		"history.txt": func(w io.Writer) error {
			return render.History(w, report.History(clusters[0], []eventsv1.Event{{
				EventTime: metav1.NewMicroTime(fixtureNow().Add(-12 * time.Minute)), Reason: "FailureDomainCordoned", Note: "Failure domain rack-2 is Cordoned: 4 hosts, 4 in error: repair one",
			}, {
				EventTime: metav1.NewMicroTime(fixtureNow().Add(-11 * time.Minute)), Reason: "NotBalanced", Note: "md-0: to be moved: Machine prod-1-md-0-b1 from rack-1 to rack-3",
			}}), piped)
		},
	}
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, show := range shown(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var text bytes.Buffer
			g.Expect(show(&text)).To(Succeed())
			path := filepath.Join("testdata", name)
			if *update {
				g.Expect(os.WriteFile(path, text.Bytes(), 0o600)).To(Succeed())
			}
			want, err := os.ReadFile(path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(text.String()).To(Equal(string(want)), "run go test ./internal/command -update to write the current output")
		})
	}
}

func TestLinesAreWrappedToTheTerminal(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := []report.Cluster{report.Of(fixtureClusters()[0])}
	var wide, narrow bytes.Buffer
	g.Expect(render.Tree(&wide, cluster, false, render.Style{Now: fixtureNow()})).To(Succeed())
	g.Expect(render.Tree(&narrow, cluster, false, render.Style{Now: fixtureNow(), Width: 80})).To(Succeed())
	for _, line := range strings.Split(narrow.String(), "\n") {
		g.Expect(len([]rune(line))).To(BeNumerically("<=", 80), line)
	}
	g.Expect(strings.Fields(strings.NewReplacer("├─*", "", "└─*", "", "│", "").Replace(narrow.String()))).To(
		ConsistOf(strings.Fields(strings.NewReplacer("├─*", "", "└─*", "", "│", "").Replace(wide.String()))), "no word is lost")
}

func TestMessageLinesAreJoined(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := report.Of(fixtureClusters()[0])
	for i := range cluster.Conditions {
		cluster.Conditions[i].Message = "To be moved:\n  a from b to c\nStabilizing: wait\n\n* set it to SurgeOne"
	}
	var out bytes.Buffer
	g.Expect(render.Tree(&out, []report.Cluster{cluster}, false, render.Style{Now: fixtureNow()})).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring(": To be moved: a from b to c; Stabilizing: wait; * set it to SurgeOne\n"))
}

func TestBalancedConditionWithMessageIsShown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := report.Of(fixtureClusters()[0])
	shown := func(message string) string {
		cluster.Conditions = []metav1.Condition{{
			Type: faultlinev1.ControlPlaneBalancedCondition, Status: metav1.ConditionTrue, Reason: faultlinev1.ReasonBalanced, Message: message,
		}}
		var out bytes.Buffer
		g.Expect(render.Tree(&out, []report.Cluster{cluster}, false, render.Style{Now: fixtureNow()})).To(Succeed())
		return out.String()
	}
	g.Expect(shown("RemediationLeftOver: cp has an annotation")).To(ContainSubstring("ControlPlaneBalanced is True, Balanced: RemediationLeftOver: cp has an annotation"))
	g.Expect(shown("")).NotTo(ContainSubstring("ControlPlaneBalanced"))
}

func TestNoColoursWithoutTerminal(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for name, show := range shown(t) {
		if name == "get-terminal.txt" {
			continue
		}
		var text bytes.Buffer
		g.Expect(show(&text)).To(Succeed())
		g.Expect(text.String()).NotTo(ContainSubstring("\x1b"), name)
	}
}

func TestSVGIsDeterministic(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var first, second bytes.Buffer
	observed := fixtureClusters()[0]
	g.Expect(render.SVG(&first, []report.Cluster{report.Of(observed)})).To(Succeed())
	for i, j := 0, len(observed.Machines)-1; i < j; i, j = i+1, j-1 {
		observed.Machines[i], observed.Machines[j] = observed.Machines[j], observed.Machines[i]
	}
	g.Expect(render.SVG(&second, []report.Cluster{report.Of(observed)})).To(Succeed())
	g.Expect(second.String()).To(Equal(first.String()))
}

func TestSVGEscapesNames(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var text bytes.Buffer
	g.Expect(render.SVG(&text, []report.Cluster{{
		Namespace: "default", Name: "c", Problem: "a < b", Domains: []report.Domain{{Name: `<script>"&`, Listed: true}},
	}})).To(Succeed())
	g.Expect(text.String()).To(ContainSubstring("&lt;script&gt;&#34;&amp;"))
	g.Expect(text.String()).NotTo(ContainSubstring("<script>"))
}
