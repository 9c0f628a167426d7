// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import "os/exec"

// killWithParent does nothing, because this operating system does not support it.
func killWithParent(*exec.Cmd) {}
