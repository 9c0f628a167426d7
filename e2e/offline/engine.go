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
	// startTimeout bounds the wait for an engine to respond after its start. An engine with many containers takes a while.
	startTimeout = time.Minute
	// stopTimeout bounds the wait for an engine to stop.
	stopTimeout = 30 * time.Second
	poll        = 200 * time.Millisecond
	// debianPackage is the engine's package in Debian and its derivatives.
	debianPackage = "docker.io"
	// boundedRuntime is the name of BoundedRunc's runtime in an engine that is started here.
	boundedRuntime = "bounded"
)

// Engine is the Docker engine of this machine.
type Engine struct {
	// Dir has the log and the process ID of an engine that was started here.
	Dir string
	// BoundedRunc returns the path of the runc of an engine that is started here.
	BoundedRunc func(context.Context) (string, error)
	Run         tool.Runner
}

// Ensure starts an engine unless one responds. It first installs one if that is allowed.
func (e Engine) Ensure(ctx context.Context) error {
	if e.answers(ctx) == nil {
		return e.checkRuntime(ctx)
	}
	if err := e.possible(); err != nil {
		return fmt.Errorf("no Docker engine responds (%w); %w", e.answers(ctx), err)
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

// bringUp starts the engine with systemd if the machine runs it. Otherwise the channel receives a value when the engine exits.
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

// answers returns nil if an engine responds.
func (e Engine) answers(ctx context.Context) error {
	_, err := e.Run.Run(ctx, "docker", "version", "--format", "{{.Server.Version}}")
	return err
}

// checkRuntime returns an error if the engine was started from another clone that has been deleted, including the runc that the
// engine uses.
func (e Engine) checkRuntime(ctx context.Context) error {
	runc, err := e.Run.Run(ctx, "docker", "info", "--format", `{{with index .Runtimes "`+boundedRuntime+`"}}{{.Path}}{{end}}`)
	if err != nil {
		return fmt.Errorf("reading the runtimes of the Docker engine: %w", err)
	}
	if runc = strings.TrimSpace(runc); runc == "" {
		return nil
	}
	if _, err := os.Stat(runc); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the running Docker engine cannot start containers, because the clone that started it was deleted together with %s: stop it (kill $(pidof dockerd)) and try again", runc)
	}
	return nil
}

// Startable reports whether Ensure can start an installed engine, without installing anything.
func (e Engine) Startable() bool { return found("dockerd") && found("docker") && e.possible() == nil }

// possible returns nil if an engine can be started here, else an error with the fix.
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

// host holds the properties of this machine that matter for starting an engine.
type host struct{ root, systemd, engine, apt bool }

// startable returns nil if this program can start an engine itself.
func startable(h host) error {
	switch {
	case h.systemd && h.engine && !h.root:
		return errors.New("start it with `sudo systemctl start docker`, and give this user access (group docker)")
	case !h.engine && !h.apt:
		return errors.New("install Docker: https://docs.docker.com/engine/install/")
	case !h.root:
		return errors.New("install and start Docker, or run this as root with INSTALL=1")
	}
	return nil
}

func (e Engine) install(ctx context.Context) error {
	if found("dockerd") && found("docker") {
		return nil
	}
	return install(ctx, e.Run, debianPackage)
}

// arguments returns the arguments of dockerd. Plain runc could not start a privileged container on a host that lacks a capability.
func (e Engine) arguments(ctx context.Context) ([]string, error) {
	runc, err := e.BoundedRunc(ctx)
	if err != nil {
		return nil, fmt.Errorf("preparing runc for a host that may lack a capability: %w", err)
	}
	return []string{
		"--pidfile", e.pidFile(), "--add-runtime", boundedRuntime + "=" + runc, "--default-runtime", boundedRuntime,
	}, nil
}

// await waits until the engine responds or its process has ended.
func (e Engine) await(ctx context.Context, ended <-chan error) error {
	var silent error
	err := wait.PollUntilContextTimeout(ctx, poll, startTimeout, true, func(ctx context.Context) (bool, error) {
		if silent = e.answers(ctx); silent == nil {
			return true, nil
		}
		select {
		case exit := <-ended:
			return false, fmt.Errorf("the Docker engine exited immediately (%w), see %s", exit, e.LogFile())
		default:
			return false, nil
		}
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("the Docker engine does not respond, see %s: %w", e.LogFile(), cmp.Or(silent, err))
	}
	return err
}

// LogFile returns the log file of an engine that was started here.
func (e Engine) LogFile() string { return filepath.Join(e.Dir, "dockerd.log") }

func (e Engine) pidFile() string { return filepath.Join(e.Dir, "dockerd.pid") }

// systemd reports whether systemd runs this machine.
func systemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

func found(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
