// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pause holds the namespaces of a pod open. It is process 1 of a pod that
// shares its process namespace, so it collects the orphans of the others.
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

// collect reaps every child that has ended: signals that arrive together count as one.
func collect() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}
