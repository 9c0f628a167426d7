// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// running are the API servers of this process. envtest starts them in process groups of their own, which a terminal does not interrupt with
// the test.
var running struct { //nolint:gochecknoglobals // Signals are of a process.
	sync.Mutex

	handle       sync.Once
	environments map[*envtest.Environment]bool
}

// stopWhenInterrupted stops the API server and etcd when the test program is interrupted or terminated, before it exits.
func stopWhenInterrupted(env *envtest.Environment) {
	if !testing.Testing() {
		return // Programs end on a signal by themselves.
	}
	running.Lock()
	defer running.Unlock()
	if running.environments == nil {
		running.environments = map[*envtest.Environment]bool{}
	}
	running.environments[env] = true
	running.handle.Do(func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		go func() {
			received := <-signals
			running.Lock() // until the process exits, so that no API server is started any more
			for env := range running.environments {
				_ = env.Stop() // It has stopped or was killed.
			}
			fmt.Fprintf(os.Stderr, "%s: stopped the API servers of the tests\n", received)
			os.Exit(1)
		}()
	})
}

func stopped(env *envtest.Environment) {
	running.Lock()
	defer running.Unlock()
	delete(running.environments, env)
}
