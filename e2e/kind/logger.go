// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"fmt"
	"io"

	"sigs.k8s.io/kind/pkg/log"
)

// logger writes kind's log to the log of the step.
type logger struct{ out io.Writer }

func (l logger) write(message string) {
	if l.out != nil {
		_, _ = fmt.Fprintln(l.out, message)
	}
}

// Warn implements kind's log.Logger, as the other methods do.
func (l logger) Warn(message string) { l.write(message) }

// Warnf implements log.Logger.
func (l logger) Warnf(format string, args ...any) { l.write(fmt.Sprintf(format, args...)) }

// Error implements log.Logger.
func (l logger) Error(message string) { l.write(message) }

// Errorf implements log.Logger.
func (l logger) Errorf(format string, args ...any) { l.write(fmt.Sprintf(format, args...)) }

// Info implements log.InfoLogger.
func (l logger) Info(message string) { l.write(message) }

// Infof implements log.InfoLogger.
func (l logger) Infof(format string, args ...any) { l.write(fmt.Sprintf(format, args...)) }

// Enabled implements log.InfoLogger.
func (l logger) Enabled() bool { return true }

// V implements log.Logger. Levels above 1 are dropped, because they contain the output of every command.
func (l logger) V(level log.Level) log.InfoLogger {
	if level > 1 {
		return log.NoopInfoLogger{}
	}
	return l
}
