// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
)

// openLog creates the log file of a demo, which keeps log lines out of its output.
func openLog(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory for logs: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, "demo.log"))
	if err != nil {
		return nil, fmt.Errorf("opening the demo's log: %w", err)
	}
	return file, nil
}

func loggerTo(w io.Writer) logr.Logger {
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(w)))
}

// divertLogs redirects the process-wide loggers of libraries to w until restore is called.
func divertLogs(w io.Writer) (restore func()) {
	logger := loggerTo(w)
	klog.SetLogger(logger)
	ctrl.SetLogger(logger)
	previous := log.Writer()
	log.SetOutput(w)
	return func() { log.SetOutput(previous) }
}
