// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"syscall"
)

// endWithUs has a program end when the thread that starts it does, and so with this process, however that ends.
func endWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
