// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package managementcluster

import "syscall"

// ownGroup puts a process into a group of its own. Only Linux can tie its life to
// ours; elsewhere processes survive a killed demo.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
