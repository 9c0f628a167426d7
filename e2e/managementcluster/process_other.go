// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package managementcluster

import "syscall"

// ownGroup puts a process into its own process group. Only Linux can kill it together with its parent; elsewhere processes survive a
// killed demo.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
