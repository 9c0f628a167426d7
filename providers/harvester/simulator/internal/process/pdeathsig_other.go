// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import "os/exec"

// endWithUs does nothing, because this operating system does not support it.
func endWithUs(*exec.Cmd) {}
