// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version reports the release and commit from which a program was built. It does not set the variables of
// k8s.io/component-base/version, because Kubernetes' libraries interpret them as a version of Kubernetes and select feature gates
// and metrics by it.
package version

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// The linker sets both when an image is built.
var (
	release = "devel"   //nolint:gochecknoglobals // The linker sets variables only.
	commit  = "unknown" //nolint:gochecknoglobals // The linker sets variables only.
)

// Text returns the output of --version.
func Text(program string) string {
	return fmt.Sprintf("%s %s (commit %s, %s, %s/%s)", program, release, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Pairs returns the version as key-value pairs for the first log line.
func Pairs() []any {
	return []any{"version", release, "commit", commit, "go", runtime.Version()}
}

// Register registers the metric faultline_build_info, which is 1 and has the version in its labels. Registering it again has no
// effect.
func Register(registry prometheus.Registerer) error {
	err := registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "faultline_build_info", Help: "A metric with the constant value 1, labeled with the version that the program was built from.",
		ConstLabels: prometheus.Labels{"version": release, "commit": commit, "go_version": runtime.Version()},
	}, func() float64 { return 1 }))
	if registered := (prometheus.AlreadyRegisteredError{}); errors.As(err, &registered) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("registering the metric of the version: %w", err)
	}
	return nil
}
