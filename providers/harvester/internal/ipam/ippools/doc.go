// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ippools judges IPPools as they are written: what each may be like, alone and beside others, and which of them somebody gets an
// address of who names none.
//
// The webhook applies the rules when a pool is written, and the controller again: of two pools that are written at the same
// time the webhook may not see one when it looks at the other. Each error names the field and the way out.
package ippools
