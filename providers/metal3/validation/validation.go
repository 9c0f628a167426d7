// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation runs the validation of the webhooks without calling them, and counts the suitable hosts for a machine
// without running the manager.
package validation

import (
	"github.com/faultline-io/faultline/providers/metal3/internal/webhook"
	"github.com/faultline-io/faultline/shared/rules"
)

// Written returns the create validation of all metal3 kinds, for objects of v1beta1 or v1beta2.
func Written() (rules.Validators, error) { return webhook.Written() }
