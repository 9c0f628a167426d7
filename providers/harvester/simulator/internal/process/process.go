// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs external programs of a simulated Harvester: kube-scheduler, and the control plane of the real KubeVirt,
// which is virt-controller and virt-api with the CRDs, RBAC objects and webhooks of their release, as written by virt-operator.
// Everything that these programs manage is simulated.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// tail is how many bytes of its output are quoted when a program has exited by itself.
const tail = 4 << 10

// Command is a program to run.
type Command struct {
	// Name is used in messages, Path is the path of the program.
	Name, Path string
	Args       []string
	// Env is added to the environment of this process.
	Env []string
	// Log is the file for its output.
	Log string
}

// Process is a running program. It ends with this process, however that ends.
type Process struct {
	command Command
	cmd     *exec.Cmd
	ended   chan struct{}
}

// Start runs a program until Stop, regardless of ctx.
func Start(ctx context.Context, command Command) (*Process, error) {
	output, err := os.Create(command.Log)
	if err != nil {
		return nil, fmt.Errorf("creating the log of %s: %w", command.Name, err)
	}
	p := &Process{command: command, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), command.Path, command.Args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(os.Environ(), command.Env...), output, output
	killWithParent(p.cmd)
	started := make(chan error, 1)
	go p.run(started)
	err = errors.Join(<-started, output.Close())
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Name, err)
	}
	return p, nil
}

// run keeps the thread that has started the program alive as long as the program runs.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.ended)
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // its state has the result
	}
}

// Wait waits for a program to exit by itself, and returns an error if it has failed.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.ended:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Stop())
	}
	if !p.cmd.ProcessState.Success() {
		return p.failure()
	}
	return nil
}

// Err returns an error if the program has exited.
func (p *Process) Err() error {
	select {
	case <-p.ended:
		return p.failure()
	default:
		return nil
	}
}

func (p *Process) failure() error {
	output, _ := os.ReadFile(p.command.Log)
	return fmt.Errorf("%s exited unexpectedly: %s: %s", p.command.Name, p.cmd.ProcessState, output[max(0, len(output)-tail):])
}

// Stop kills the program, which has no state to lose, and returns an error if it had exited before.
func (p *Process) Stop() error {
	if err := p.Err(); err != nil {
		return err
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
	return nil
}

// Pause suspends or resumes the program.
func (p *Process) Pause(on bool) error {
	signal := syscall.SIGCONT
	if on {
		signal = syscall.SIGSTOP
	}
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("pausing %s: %w", p.command.Name, err)
	}
	return nil
}
