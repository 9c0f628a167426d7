// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hardware translates the wanted hardware of a virtual machine into vCenter's types, and reads the hardware from them.
// It makes no calls.
package hardware
