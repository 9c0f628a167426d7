// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ippools validates IPPools, alone and together with others, and selects the pool for a load balancer that names none.
//
// The webhook applies the rules when a pool is written, and the controller applies them again: if two pools are written at the same time,
// the webhook may see neither when it validates the other. Each error names the field and the fix.
package ippools
