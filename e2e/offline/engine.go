// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/faultline-io/faultline/e2e/tool"
)

const (
	// startTimeout is how long an engine may take to answer after its start. One
	// with many containers to look after takes a while.
	startTimeout = time.Minute
	// stopTimeout is how long it may take to end.
	stopTimeout = 30 * time.Second
	poll        = 200 * time.Millisecond
	// debianPackage is the engine in Debian and its kin.
	debianPackage = "docker.io"
	// boundedRuntime is what an engine that is started here calls BoundedRunc.
	boundedRuntime = "bounded"
)

// Engine is the Docker engine of this machine.
type Engine struct {
	// Dir keeps the log and the process id of an engine that was started here.
	Dir string
	// BoundedRunc answers the path of the runc to use on a host that lacks a
	// capability. It is asked there only.
	BoundedRunc func(context.Context) (string, error)
	Run         tool.Runner
}

// Ensure starts an engine unless one answers, after installing it where that is allowed.
func (e Engine) Ensure(ctx context.Context) error {
	if e.answers(ctx) == nil {
		return e.whole(ctx)
	}
	if err := e.possible(); err != nil {
		return fmt.Errorf("no Docker engine answers (%w); %w", e.answers(ctx), err)
	}
	if err := e.install(ctx); err != nil {
		return fmt.Errorf("installing the Docker engine: %w", err)
	}
	ended, err := e.bringUp(ctx)
	if err != nil {
		return fmt.Errorf("starting the Docker engine: %w", err)
	}
	return e.await(ctx, ended)
}

// bringUp leaves the engine to systemd where that runs the machine. The channel
// answers when an engine that was started without it ends.
func (e Engine) bringUp(ctx context.Context) (ended <-chan error, err error) {
	if systemd() {
		_, err := e.Run.Run(ctx, "systemctl", "start", "docker")
		return nil, err
	}
	args, err := e.arguments(ctx)
	if err != nil {
		return nil, err
	}
	return e.start(args)
}

// answers is nil when an engine does.
func (e Engine) answers(ctx context.Context) error {
	_, err := e.Run.Run(ctx, "docker", "version", "--format", "{{.Server.Version}}")
	return err
}

// whole is an error where the engine that answers is one of ours, of a clone that is gone with the runc it starts containers by.
func (e Engine) whole(ctx context.Context) error {
	runc, err := e.Run.Run(ctx, "docker", "info", "--format", `{{with index .Runtimes "`+boundedRuntime+`"}}{{.Path}}{{end}}`)
	if err != nil {
		return fmt.Errorf("asking the Docker engine for its runtimes: %w", err)
	}
	if runc = strings.TrimSpace(runc); runc == "" {
		return nil
	}
	if _, err := os.Stat(runc); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the Docker engine that answers can start no container, as the clone that started it is gone, and %s with it: end it (kill $(pidof dockerd)), and try again", runc)
	}
	return nil
}

// Startable reports whether Ensure could start an engine that is there, without installing anything.
func (e Engine) Startable() bool { return found("dockerd") && found("docker") && e.possible() == nil }

// possible tells whether an engine can be started here, and if not what to do.
func (e Engine) possible() error {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return fmt.Errorf("DOCKER_HOST is %s: start that engine or unset DOCKER_HOST", host)
	}
	return startable(host{
		root:    os.Geteuid() == 0,
		systemd: systemd(),
		engine:  found("dockerd"),
		apt:     found("apt-get"),
	})
}

// host is what matters about this machine for starting an engine.
type host struct{ root, systemd, engine, apt bool }

// startable is nil when this program can start an engine itself.
func startable(h host) error {
	switch {
	case h.systemd && h.engine && !h.root:
		return errors.New("start it with `sudo systemctl start docker`, and let this user reach it (group docker)")
	case !h.engine && !h.apt:
		return errors.New("install Docker: https://docs.docker.com/engine/install/")
	case !h.root:
		return errors.New("install and start Docker, or run this as root, with INSTALL=1, to have that done")
	}
	return nil
}

func (e Engine) install(ctx context.Context) error {
	if found("dockerd") && found("docker") {
		return nil
	}
	return install(ctx, e.Run, debianPackage)
}

// arguments of dockerd. Where the host may not give away every capability, a
// privileged container would not start with plain runc.
func (e Engine) arguments(ctx context.Context) ([]string, error) {
	args := []string{"--pidfile", e.pidFile()}
	full, err := allCapabilities()
	if err != nil || full {
		return args, err
	}
	runc, err := e.BoundedRunc(ctx)
	if err != nil {
		return nil, fmt.Errorf("preparing runc for a host that lacks a capability: %w", err)
	}
	return append(args, "--add-runtime", boundedRuntime+"="+runc, "--default-runtime", boundedRuntime), nil
}

// await waits until the engine answers or its process has ended.
func (e Engine) await(ctx context.Context, ended <-chan error) error {
	var silent error
	err := wait.PollUntilContextTimeout(ctx, poll, startTimeout, true, func(ctx context.Context) (bool, error) {
		if silent = e.answers(ctx); silent == nil {
			return true, nil
		}
		select {
		case exit := <-ended:
			return false, fmt.Errorf("the Docker engine ended at once (%w), see %s", exit, e.LogFile())
		default:
			return false, nil
		}
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("the Docker engine does not answer, see %s: %w", e.LogFile(), cmp.Or(silent, err))
	}
	return err
}

// LogFile is where an engine that was started here writes.
func (e Engine) LogFile() string { return filepath.Join(e.Dir, "dockerd.log") }

func (e Engine) pidFile() string { return filepath.Join(e.Dir, "dockerd.pid") }

// systemd tells whether it runs this machine.
func systemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

func found(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// allCapabilities tells whether this process may give away every capability that
// its kernel knows.
func allCapabilities() (bool, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false, err
	}
	last, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return false, err
	}
	return coversAll(string(status), strings.TrimSpace(string(last)))
}
