// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package offline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/util/wait"
)

// start starts dockerd in its own session, so that it outlives this program. The channel receives a value if dockerd exits before this
// program does.
func (e Engine) start(args []string) (ended <-chan error, err error) {
	if err := os.MkdirAll(e.Dir, 0o755); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(e.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("dockerd", args...) //nolint:noctx // The process must outlive the context.
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		_ = cmd.Wait() // The state of the process also describes success.
		done <- errors.New(cmd.ProcessState.String())
	}()
	return done, nil
}

// Stop stops the engine if it was started here, and waits until it has exited.
func (e Engine) Stop(ctx context.Context) error {
	pid, err := e.pid()
	if err != nil || pid == 0 {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stopping the Docker engine (process %d): %w", pid, err)
	}
	err = wait.PollUntilContextTimeout(ctx, poll, stopTimeout, true, func(context.Context) (bool, error) { return !isEngine(pid), nil })
	if err != nil {
		return fmt.Errorf("the Docker engine (process %d) does not stop: %w", pid, err)
	}
	return nil
}

// Absent returns an error if an engine that was started here runs but does not respond.
func (e Engine) Absent() error {
	pid, err := e.pid()
	if err == nil && pid != 0 {
		err = fmt.Errorf("the Docker engine (process %d) does not respond, see %s", pid, e.LogFile())
	}
	return err
}

// pid returns the process ID of the engine that was started here; 0 if none runs.
func (e Engine) pid() (int, error) {
	content, err := os.ReadFile(e.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", e.pidFile(), err)
	}
	if !isEngine(pid) {
		return 0, nil
	}
	return pid, nil
}

// isEngine guards against a process that reused the ID of an engine that exited without removing its file.
func isEngine(pid int) bool {
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	return err == nil && strings.TrimSpace(string(name)) == "dockerd"
}
