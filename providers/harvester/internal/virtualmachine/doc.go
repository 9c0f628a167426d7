// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachine tells what the virtual machine of a HarvesterMachine is made of, and what one that exists says of itself. It
// only computes.
package virtualmachine
