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
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	// managerVariable is set in the environment of a test's program that runs as the manager.
	managerVariable = "FAULTLINE_TEST_RUNS_AS_MANAGER"
	// lastWords is how many bytes of what the manager wrote are shown when a test fails.
	lastWords = 32 << 10
)

// MainOf runs the tests of a main package and exits; it is all that its TestMain does. In the process that RunManager starts
// it runs main instead: a manager sets loggers, metrics and limits of its whole process, which is no test's to share.
func MainOf(m *testing.M, main func()) {
	if os.Getenv(managerVariable) == "" {
		os.Exit(m.Run())
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // It ends when the test does, however that comes about.
		os.Exit(1)
	}()
	main()
	os.Exit(0)
}

// RunManager runs the manager as it is installed, in a process of its own, until the test ends: with the arguments of its
// Deployment and these, and as its ServiceAccount. It can be killed before that, as by a node that dies. The package's TestMain is MainOf.
func RunManager(t *testing.T, env *envtest.Environment, c *Components, args ...string) (kill func()) {
	t.Helper()
	return runManager(t, env, c, kubeconfig(t, env, c.user()), args)
}

// RunManagerAmidFaults is RunManager with an API server that disobeys the manager in every way of front.Faults.
func RunManagerAmidFaults(t *testing.T, env *envtest.Environment, c *Components, args ...string) (kill func()) {
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
		_ = cmd.Wait() // Its state says how.
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
			t.Logf("the manager ended with %s; its last words:\n%s", cmd.ProcessState, output.Bytes()[max(0, output.Len()-lastWords):])
		}
	})
	return func() {
		killed = true
		_ = cmd.Process.Kill() // or it has ended by itself, which is no different from here
		<-ended
	}
}

// end asks the manager to stop and waits for it. An exit code above 1 is a panic, or the race detector's. That the manager
// takes long over its farewell, and says so with exit code 1, is the business of a busy machine.
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
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-ended
		return fmt.Errorf("the manager has not stopped after %s", patience)
	}
	if code := cmd.ProcessState.ExitCode(); code > 1 {
		return fmt.Errorf("the manager has ended with exit code %d", code)
	}
	return nil
}

// accountGroups are those of ServiceAccounts.
func accountGroups() []string { return []string{"system:serviceaccounts", "system:authenticated"} }

// kubeconfig writes one for a user of the groups of ServiceAccounts.
func kubeconfig(t *testing.T, env *envtest.Environment, name string) string {
	t.Helper()
	user, err := env.AddUser(envtest.User{Name: name, Groups: accountGroups()}, nil)
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
