// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pause keeps the namespaces of a pod open. In a pod that shares its process namespace it is process 1, so it reaps orphaned
// processes.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		collect()
	}
}

// collect reaps every child that has exited: several simultaneous signals arrive as one.
func collect() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}
