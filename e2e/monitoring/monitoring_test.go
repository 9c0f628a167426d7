// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var docs = filepath.Join("..", "..", "docs", "monitoring")

func recorded(t *testing.T) (Dashboard, *Recording) {
	t.Helper()
	g := NewWithT(t)
	dashboard, err := Load(filepath.Join(docs, "dashboard.json"))
	g.Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(filepath.Join("testdata", "return.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	recording, err := Read(content)
	g.Expect(err).NotTo(HaveOccurred())
	return dashboard, recording
}

func TestEveryPanelHasDataOfWhatTheDemoRecorded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dashboard, recording := recorded(t)
	g.Expect(dashboard.Panels).NotTo(BeEmpty())
	for _, panel := range dashboard.Panels {
		if panel.Title == balancersTitle || panel.Title == skewTitle {
			continue // the demo has no load balancers, and no workers that are spread
		}
		data, err := panel.Data(t.Context(), recording)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(data).NotTo(BeEmpty(), panel.Title)
		for _, line := range data {
			_, number := last(line.Values)
			g.Expect(number).To(BeTrue(), "%s: %s", panel.Title, line.Name)
			g.Expect(line.Name).NotTo(Or(BeEmpty(), ContainSubstring("{")), panel.Title)
		}
	}
}

const (
	// balancersTitle is the panel of load balancers, skewTitle that of the spread of workers.
	balancersTitle = "Load balancers on Harvester"
	skewTitle      = "Skew of workers, by MachineDeployment"
)

func TestLoadBalancersAreShownByWhyTheyAreNotReady(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dashboard, _ := recorded(t)
	recording, err := Read([]byte(`tests:
- interval: 1s
  input_series:
  - {series: 'harvester_load_balancers{workload="vm", ready="True", reason=""}', values: 0x1 3x1}
  - {series: 'harvester_load_balancers{workload="cluster", ready="False", reason="PoolExhausted"}', values: 2x3}
  - {series: 'harvester_load_balancers{workload="cluster", ready="Unknown", reason="WaitingForAddress"}', values: 1x3}
`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shown(t, dashboard, balancersTitle, recording)).To(Equal(map[string]float64{"vm ready": 3, "cluster PoolExhausted": 2, "cluster WaitingForAddress": 1}))
}

// shown is what a panel shows in the end, by the names of its lines.
func shown(t *testing.T, dashboard Dashboard, title string, recording *Recording) map[string]float64 {
	t.Helper()
	g := NewWithT(t)
	at := slices.IndexFunc(dashboard.Panels, func(panel Panel) bool { return panel.Title == title })
	g.Expect(at).To(BeNumerically(">=", 0))
	lines, err := dashboard.Panels[at].Data(t.Context(), recording)
	g.Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, line := range lines {
		values[line.Name], _ = last(line.Values)
	}
	return values
}

func TestTheSpreadOfWorkersIsShownByMachineDeployment(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dashboard, _ := recorded(t)
	recording, err := Read([]byte(`tests:
- interval: 1s
  input_series:
  - {series: 'capi_failure_domain_worker_skew{namespace="default", cluster="prod", machine_deployment="md-a"}', values: 0x1 2x1}
  - {series: 'capi_failure_domain_worker_skew{namespace="default", cluster="prod", machine_deployment="md-b"}', values: 1x3}
`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shown(t, dashboard, skewTitle, recording)).To(Equal(map[string]float64{"prod md-a": 2, "prod md-b": 1}))
}

func TestTheFirstMoveOfAClusterIsSeen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dashboard, recording := recorded(t)
	for _, panel := range dashboard.Panels {
		if panel.Title != "Moves in the last hour" {
			continue
		}
		data, err := panel.Data(t.Context(), recording)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(data).To(HaveLen(1))
		moves, _ := last(data[0].Values)
		g.Expect(moves).To(BeNumerically("~", 1, 0.1))
		return
	}
	t.Fatal("there is no such panel")
}

func TestThePictureInTheDocsIsTheDashboardOfWhatTheDemoRecorded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dashboard, recording := recorded(t)
	var drawn bytes.Buffer
	g.Expect(Draw(t.Context(), &drawn, dashboard, recording)).To(Succeed())
	wellFormed(t, drawn.String())
	picture, err := os.ReadFile(filepath.Join(docs, "dashboard.svg"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Equal(drawn.Bytes(), picture)).To(BeTrue(), "the picture is not of this dashboard: cd e2e && go run ./cmd/dashboard draws it again")
	for _, panel := range dashboard.Panels {
		g.Expect(drawn.String()).To(ContainSubstring("<title>" + panel.Title + ": "))
	}
}

func wellFormed(t *testing.T, picture string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		_, err := decoder.Token()
		if err == io.EOF { //nolint:errorlint // The decoder returns it as it is.
			return
		}
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
}

// recordingOf has series by name; an empty scrape is one in which nothing is exported, nil one that was not answered.
func recordingOf(scrapes ...scrape) *Recording {
	return &Recording{Name: "a test", Interval: time.Second, scrapes: scrapes}
}

func TestARecordingIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const a, b = `a{x="1"}`, `b{x="2", y="} 3"}`
	written := recordingOf(scrape{a: 1}, scrape{a: 1, b: 0}, nil, scrape{a: 1, b: 2.5}, scrape{b: 3}, scrape{a: 4, b: 3})
	var text bytes.Buffer
	g.Expect(written.Write(&text)).To(Succeed())
	g.Expect(text.String()).To(And(ContainSubstring("1x1 _ 1 stale 4"), ContainSubstring("_ 0 _ 2.5 3x1")))
	read, err := Read(text.Bytes())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read).To(Equal(written))

	g.Expect(recordingOf().Write(&text)).To(MatchError(ContainSubstring("nothing was recorded")))
	_, err = Read([]byte("tests: [{interval: 1s, input_series: [{series: a, values: x}]}]"))
	g.Expect(err).To(MatchError(ContainSubstring("reading series a")))
}

func TestASeriesThatEndsIsNoLongerThereAndOneThatWasNotAnsweredForIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	recording := recordingOf(scrape{"a": 1, "b": 1}, nil, scrape{"b": 1}, scrape{"a": 2, "b": 1})
	lines, err := recording.Evaluate(t.Context(), "a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(HaveLen(1))
	values := lines[0].Values
	g.Expect(values[:2]).To(Equal([]float64{1, 1}))
	g.Expect(math.IsNaN(values[2])).To(BeTrue())
	g.Expect(values[3]).To(Equal(2.0))
	g.Expect(runs(values)).To(Equal([]run{{0, 2, 1}, {3, 4, 2}}))
	_, err = recording.Evaluate(t.Context(), "sum(")
	g.Expect(err).To(MatchError(ContainSubstring("evaluating sum(")))
}

func TestOnlyWhatIsExportedAboutFailureDomainsIsRecordedWithTheStepThatGoesOn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text := "go_goroutines 7\n"
	down := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	recorder := NewRecorder("a test", time.Second)
	look := func() {
		samples, err := get(t.Context(), server.URL)
		recorder.keep(samples, err == nil)
	}
	recorder.Begin("Wait")
	look() // Nothing is known of a cluster yet.
	text += "capi_failure_domain_skew{cluster=\"c\"} 2\n"
	look()
	down = true
	look()
	down = false
	recorder.Begin("Go on")
	look()
	text = "go_goroutines 7\n"
	look() // The cluster is gone.

	const skew = `capi_failure_domain_skew{cluster="c"}`
	g.Expect(recorder.Recording().scrapes).To(Equal([]scrape{
		{skew: 2, `demo_step{number="01", step="Wait"}`: 1}, nil, {skew: 2, `demo_step{number="02", step="Go on"}`: 1},
	}))
}

func TestARecorderScrapesUntilItIsToldToEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 3 {
			cancel()
		}
		_, _ = io.WriteString(w, "capi_failure_domain_skew 1\n")
	}))
	t.Cleanup(server.Close)
	recorder := NewRecorder("a test", time.Millisecond)
	recorder.Run(ctx, server.URL)
	NewWithT(t).Expect(len(recorder.Recording().scrapes)).To(BeNumerically(">=", 2))
}

func TestAPanelThatCannotBeDrawnIsAnErrorAndOneWithoutDataSaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	panel := Panel{Title: "Load", Type: "gauge", Targets: []Target{{Expr: "a", LegendFormat: "{{x}}"}}}
	panel.GridPos.W, panel.GridPos.H = 12, 8
	recording := recordingOf(scrape{`a{x="<1>"}`: 1})
	var drawn bytes.Buffer
	g.Expect(Draw(t.Context(), &drawn, Dashboard{Panels: []Panel{panel}}, recording)).To(MatchError(ContainSubstring(`of type "gauge"`)))

	panel.Type = "timeseries"
	g.Expect(Draw(t.Context(), &drawn, Dashboard{Panels: []Panel{panel}}, recording)).To(Succeed())
	g.Expect(drawn.String()).To(ContainSubstring("&lt;1&gt;"))
	wellFormed(t, drawn.String())
	panel.Targets[0].Expr = "b"
	g.Expect(Draw(t.Context(), &drawn, Dashboard{Panels: []Panel{panel}}, recording)).To(Succeed())
	g.Expect(drawn.String()).To(ContainSubstring("no data"))
}
