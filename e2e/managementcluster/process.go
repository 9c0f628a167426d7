// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// stopGrace is the time that a process gets to stop gracefully. The managers use it to log out of the infrastructure.
	stopGrace = 5 * time.Second
	// tailLines is how much of a log is quoted when its process exits unexpectedly.
	tailLines = 12
)

// command describes a process to start.
type command struct {
	name    string
	program string
	args    []string
	env     []string // added to the environment of this process
	metrics string   // URL of its metrics
	health  string   // URL of its health endpoint
}

// process is one running program of the cluster. It has its own process group, so that a Ctrl-C in the terminal reaches only the cluster,
// which then stops its processes in order.
type process struct {
	name    string
	log     string
	metrics string
	cmd     *exec.Cmd
	ended   chan struct{}

	mutex    sync.Mutex
	stopping bool
	exit     error
}

// launcher starts processes from a single thread that lives as long as the launcher. On Linux a child can request to be killed when its
// parent dies, but the parent in this sense is the thread that started it, and Go ends idle threads.
type launcher struct {
	requests chan func()
}

func newLauncher() *launcher {
	l := &launcher{requests: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for start := range l.requests {
			start()
		}
	}()
	return l
}

// close ends the launcher's thread, which kills all processes that it started.
func (l *launcher) close() { close(l.requests) }

// logFile returns the file that all processes of a name write to, one after the other.
func logFile(logs, name string) string { return filepath.Join(logs, name+".log") }

// start runs a command with its output in a file of the folder logs. The context only provides values: a process runs until it is
// stopped.
func (l *launcher) start(ctx context.Context, c command, logs string) (*process, error) {
	log := logFile(logs, c.name)
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", c.name, err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.program, c.args...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = ownGroup()
	started := make(chan error)
	l.requests <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", c.name, err), out.Close())
	}
	p := &process{name: c.name, log: log, metrics: c.metrics, cmd: cmd, ended: make(chan struct{})}
	go p.wait(out)
	return p, nil
}

func (p *process) wait(out io.Closer) {
	_ = p.cmd.Wait() // The state of the process also describes success.
	p.mutex.Lock()
	if !p.stopping {
		p.exit = fmt.Errorf("%s ended unexpectedly (%s); the end of %s:\n%s", p.name, p.cmd.ProcessState, p.log, tail(p.log))
	}
	p.mutex.Unlock()
	_ = out.Close()
	close(p.ended)
}

// failure returns how the process exited if that was unexpected, else nil.
func (p *process) failure() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.exit
}

// stop stops the process gracefully, waits, and kills its process group after the grace period. It ignores a process that has exited.
func (p *process) stop(grace time.Duration) {
	p.mutex.Lock()
	p.stopping = true
	p.mutex.Unlock()
	group := -p.cmd.Process.Pid
	if grace > 0 {
		_ = syscall.Kill(group, syscall.SIGTERM)
		select {
		case <-p.ended:
		case <-time.After(grace):
		}
	}
	select {
	case <-p.ended:
		return
	default:
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-p.ended
}

// tail returns the end of a log, indented for use in a message.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n  ")
}
