// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcerrors classifies the errors of vCenter and of the connection to it.
package vcerrors
