// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheduler runs kube-scheduler in a process of its own.
package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// program is the program, which is looked for beside the API server's.
const program = "kube-scheduler"

// assetsVariable names the folder with etcd, kube-apiserver and kube-scheduler.
const assetsVariable = "KUBEBUILDER_ASSETS"

// configuration lets kube-scheduler try again soon what did not fit. It is alone, so that there is no leader to elect.
const configuration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 5000, burst: 10000}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
`

// Scheduler is the real kube-scheduler.
type Scheduler struct {
	cmd    *exec.Cmd
	output *bytes.Buffer
	ended  chan struct{}
}

func find(assets string) (string, error) {
	path := filepath.Join(cmp.Or(assets, os.Getenv(assetsVariable)), program)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%w: %s must name a folder with it: cd e2e && go run ./cmd/binaries --assets --print-path", err, assetsVariable)
	}
	return path, nil
}

// Start starts it with the kubeconfig of an administrator; its files are in folder.
func Start(ctx context.Context, assets string, kubeconfig []byte, folder string) (*Scheduler, error) {
	path, err := find(assets)
	if err != nil {
		return nil, err
	}
	access, config := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "scheduler.yaml")
	if err := os.WriteFile(access, kubeconfig, 0o600); err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of %s: %w", program, err)
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, configuration, access), 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration of %s: %w", program, err)
	}
	s := &Scheduler{output: &bytes.Buffer{}, ended: make(chan struct{})}
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), path, "--config="+config, "--secure-port=0")
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	endWithUs(s.cmd)
	started := make(chan error, 1)
	go s.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return s, nil
}

// run keeps the thread that has started the program as long as that runs.
func (s *Scheduler) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.ended)
	err := s.cmd.Start()
	started <- err
	if err == nil {
		_ = s.cmd.Wait() // Its state says how.
	}
}

// Stop kills it, as it has nothing to lose, and says when it had ended by itself.
func (s *Scheduler) Stop() error {
	select {
	case <-s.ended:
		return fmt.Errorf("%s has ended by itself: %s: %s", program, s.cmd.ProcessState, s.output)
	default:
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	return nil
}

// Pause has it stand still, or go on.
func (s *Scheduler) Pause(on bool) error {
	signal := syscall.SIGCONT
	if on {
		signal = syscall.SIGSTOP
	}
	if err := s.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("pausing %s: %w", program, err)
	}
	return nil
}
