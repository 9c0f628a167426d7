// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
)

// divertLogs sends what libraries log into files, as it would be painted across
// the story. It is undone by restore.
func divertLogs(dir string) (restore func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for logs: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, "playground.log"))
	if err != nil {
		return nil, fmt.Errorf("opening the playground's log: %w", err)
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(file)))
	klog.SetLogger(logger)
	ctrl.SetLogger(logger)
	previous := log.Writer()
	log.SetOutput(file)
	return func() {
		log.SetOutput(previous)
		_ = file.Close()
	}, nil
}

func workloadLog() logr.Logger { return klog.Background().WithName("workload") }
