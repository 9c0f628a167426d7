//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
)

// failureFile holds the last lines of a failed run, which `make e2e` prints at the very end.
const failureFile = "failure.txt"

// Names of report entries.
const (
	entryObject = "Unhealthy object"
	entryLogs   = "Logs and objects"
)

// The state is collected before anything is cleaned up.
var _ = JustAfterEach(func(ctx SpecContext) {
	if !CurrentSpecReport().Failed() || management == nil {
		return
	}
	folder := filepath.Join(*artifacts, specFolder(), "failure")
	AddReportEntry(entryLogs, folder)
	// A failed collection must not hide why the spec failed.
	failures := InterceptGomegaFailures(func() { AddReportEntry(entryObject, collect(ctx, folder)) })
	for _, failure := range failures {
		GinkgoWriter.Println("Collecting:", failure)
	}
})

var _ = ReportAfterSuite("Report the first failure", func(report Report) {
	path := filepath.Join(*artifacts, failureFile)
	_ = os.Remove(path)
	failed := slices.DeleteFunc(slices.Clone(report.SpecReports), func(r SpecReport) bool { return !r.Failed() })
	if len(failed) == 0 {
		return
	}
	first := slices.MinFunc(failed, func(a, b SpecReport) int { return failedAt(a).Compare(failedAt(b)) })
	text := describeFailure(first)
	_, _ = fmt.Fprint(os.Stdout, "\n", text)
	Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
})

func failedAt(r SpecReport) time.Time { return r.Failure.TimelineLocation.Time }

// describeFailure names the spec, its step and the most relevant object.
func describeFailure(r SpecReport) string {
	lines := []string{
		"First failure:",
		"  spec    " + cmp.Or(r.FullText(), r.LeafNodeType.String()),
		"  step    " + cmp.Or(lastStep(r), "none"),
		"  said    " + strings.ReplaceAll(strings.TrimSpace(firstLines(r.Failure.Message)), "\n", "\n          "),
		"  at      " + r.Failure.Location.String(),
	}
	for _, entry := range r.ReportEntries {
		switch entry.Name {
		case entryObject:
			lines = append(lines, "  object  "+entry.Value.String())
		case entryLogs:
			lines = append(lines, "  logs    "+entry.Value.String())
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// lastStep returns the last step that the spec began before it failed.
func lastStep(r SpecReport) string {
	step := ""
	for _, event := range r.SpecEvents {
		if event.SpecEventType == types.SpecEventByStart && event.TimelineLocation.Order < r.Failure.TimelineLocation.Order {
			step = event.Message
		}
	}
	return step
}

// firstLines omits the objects that failed matchers print in full.
func firstLines(message string) string {
	const most = 12
	lines := strings.Split(message, "\n")
	if len(lines) > most {
		lines = append(lines[:most], "...")
	}
	return strings.Join(lines, "\n")
}

// specNamespace is the namespace that the spec of this process created last.
var specNamespace string

// specFolder returns the folder of the spec's artifacts: its namespace without the unique suffix.
func specFolder() string {
	if end := strings.LastIndex(specNamespace, "-"); end > 0 {
		return specNamespace[:end]
	}
	return "suite"
}

// collect writes the logs and the objects of the spec's clusters to a folder, and returns the deepest unhealthy object.
func collect(ctx context.Context, folder string) string {
	var sick []condition
	for _, proxy := range append(others, management) {
		own := filepath.Join(folder, proxy.GetName())
		writePodLogs(ctx, proxy, filepath.Join(own, "logs"), isManager)
		sick = append(sick, writeObjects(ctx, proxy, filepath.Join(own, "objects"))...)
	}
	writeContainerLogs(ctx, filepath.Join(folder, "containers"))
	for _, collector := range collectors {
		collector(ctx, folder)
	}
	if len(sick) == 0 {
		return "every object reports that it is healthy"
	}
	return slices.MinFunc(sick, condition.compare).String()
}
