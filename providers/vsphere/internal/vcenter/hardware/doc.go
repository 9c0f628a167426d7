// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hardware says in vCenter's words what a virtual machine is to be made of, and reads what one is made of. It computes only.
package hardware
