// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/shared/version"
)

const (
	// managerVariable is set in the environment of a test binary that runs as the manager.
	managerVariable = "FAULTLINE_TEST_RUNS_AS_MANAGER"
	// tailLength is the number of bytes of the manager's output that are shown when a test fails.
	tailLength = 32 << 10
)

// MainOf runs the tests of a main package and exits. Call it from TestMain, and nothing else. In a process started by RunManager
// it runs main instead, because a manager configures loggers, metrics and limits of its whole process, which tests must not
// share.
func MainOf(m *testing.M, main func()) {
	if os.Getenv(managerVariable) == "" {
		os.Exit(m.Run())
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // It ends when the test ends for any reason.
		os.Exit(1)
	}()
	main()
	os.Exit(0)
}

// RunManager runs the manager in its own process until the test ends, as it is installed: as its ServiceAccount, with the
// arguments of its Deployment and the given ones. kill ends it earlier, like a failing node. The TestMain of the package must
// call MainOf.
func RunManager(t *testing.T, env *envtest.Environment, c *Components, args ...string) (kill func()) {
	t.Helper()
	return runManager(t, env, c, kubeconfig(t, env, c.user()), args)
}

// RunManagerWithFaults is RunManager with an API server that shows the manager every fault of simulation.ProxyFaults.
func RunManagerWithFaults(t *testing.T, env *envtest.Environment, c *Components, args ...string) (kill func()) {
	t.Helper()
	return runManager(t, env, c, disobedient(t, env, c.user()), args)
}

func runManager(t *testing.T, env *envtest.Environment, c *Components, kubeconfig string, args []string) (kill func()) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	local := env.WebhookInstallOptions
	all := append(c.Args(), "--leader-elect=false", "--diagnostics-address=localhost:0", "--health-addr=localhost:0",
		"--webhook-port="+strconv.Itoa(local.LocalServingPort), "--webhook-cert-dir="+local.LocalServingCertDir)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, append(all, args...)...)
	gorace, report := races(t)
	cmd.Env = append(os.Environ(), managerVariable+"=true", "KUBECONFIG="+kubeconfig, "POD_NAMESPACE="+c.Manager.Namespace, gorace)
	output := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = output, output
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting the manager: %v", err)
	}
	killed, ended := false, make(chan struct{})
	go func() {
		_ = cmd.Wait() // The state has the exit code.
		close(ended)
	}()
	t.Cleanup(func() {
		if killed {
			return
		}
		if err := end(cmd, ended); err != nil {
			t.Error(err)
		}
		report()
		if t.Failed() {
			t.Logf("the manager ended with %s; its last words:\n%s", cmd.ProcessState, output.Bytes()[max(0, output.Len()-tailLength):])
		}
	})
	return func() {
		killed = true
		_ = cmd.Process.Kill() // or it has already exited, which makes no difference here
		<-ended
	}
}

// ShowsVersion tests that the program prints its version for --version, and in the first line of its log. Without a kubeconfig the
// program needs no API server: it logs its start and exits. The TestMain of the package must call MainOf, or run the program if the
// environment has the given variables.
func ShowsVersion(t *testing.T, name string, environment ...string) {
	t.Helper()
	environment = append(environment, managerVariable+"=true", "KUBECONFIG="+os.DevNull)
	out, _, err := runProgram(t, environment, "--version")
	if want := version.Text(name) + "\n"; err != nil || out != want {
		t.Errorf("--version prints %q, not %q: %v", out, want, err)
	}
	out, log, err := runProgram(t, environment)
	if err == nil || out != "" {
		t.Errorf("without an API server the program must fail, and log to stderr: %q", out)
	}
	first, rest, _ := strings.Cut(log, "\n")
	if strings.Contains(first, "Data race detection enabled") { // from a library of Kubernetes, in a test with the race detector
		first, _, _ = strings.Cut(rest, "\n")
	}
	if _, line, _ := strings.Cut(first, "] "); line != startLine(name) {
		t.Errorf("the first line of the log is %q, not %s", first, startLine(name))
	}
}

// startLine returns the first line of a program's log, without the header.
func startLine(name string) string {
	line := fmt.Sprintf("%q", "Starting "+name)
	for pairs := version.Pairs(); len(pairs) > 1; pairs = pairs[2:] {
		line += fmt.Sprintf(" %s=%q", pairs[0], pairs[1])
	}
	return line
}

// runProgram runs the program until it exits.
func runProgram(t *testing.T, environment []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, log := &strings.Builder{}, &strings.Builder{}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), environment...), out, log
	if _, err := cmd.StdinPipe(); err != nil { // MainOf exits when it is closed.
		t.Fatal(err)
	}
	err = cmd.Run()
	return out.String(), log.String(), err
}

// end asks the manager to stop and waits for it. An exit code above 1 comes from a panic or the race detector. Exit code 1, which
// reports that stopping timed out, is accepted because the machine may be busy.
func end(cmd *exec.Cmd, ended <-chan struct{}) error {
	select {
	case <-ended:
		return errors.New("the manager has ended by itself")
	default:
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping the manager: %w", err)
	}
	select {
	case <-ended:
	case <-time.After(startTimeout):
		_ = cmd.Process.Kill()
		<-ended
		return fmt.Errorf("the manager has not stopped after %s", startTimeout)
	}
	if code := cmd.ProcessState.ExitCode(); code > 1 {
		return fmt.Errorf("the manager has ended with exit code %d", code)
	}
	return nil
}

// accountGroups returns the groups of ServiceAccounts.
func accountGroups() []string { return []string{"system:serviceaccounts", "system:authenticated"} }

// users is held while a user is added: envtest's AddUser is not safe for tests that run in parallel.
var users sync.Mutex //nolint:gochecknoglobals // The tests of a process share its API server.

// addUser adds a user in the ServiceAccount groups.
func addUser(env *envtest.Environment, name string) (*envtest.AuthenticatedUser, error) {
	users.Lock()
	defer users.Unlock()
	return env.AddUser(envtest.User{Name: name, Groups: accountGroups()}, nil)
}

// kubeconfig writes a kubeconfig for a user in the ServiceAccount groups.
func kubeconfig(t *testing.T, env *envtest.Environment, name string) string {
	t.Helper()
	user, err := addUser(env, name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
