// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bounded-runc wraps runc for a host without the full set of capabilities. A privileged container requests every capability of
// the kernel, and runc fails if the host lacks one. This program removes the missing capabilities from the container's description and
// executes runc.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bounded-runc:", err)
		os.Exit(1)
	}
}

// run returns only if runc could not be started.
func run(args []string) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	missing, err := missingCapabilities(string(status))
	if err != nil {
		return err
	}
	for _, path := range descriptions(args) {
		if err := bound(path, missing); err != nil {
			return fmt.Errorf("bounding %s: %w", path, err)
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	return syscall.Exec(runc, append([]string{"runc"}, args...), os.Environ())
}
