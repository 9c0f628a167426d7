// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachine builds the virtual machine of a HarvesterMachine, and interprets the state of an existing one. It only computes.
package virtualmachine
