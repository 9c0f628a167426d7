// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcerrors turns what vCenter, or the way to it, answers into errors that callers tell apart.
package vcerrors
