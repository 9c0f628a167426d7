// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation is what the webhooks refuse, for those who want to know it before they ask one, and how many hosts suit a machine, for those
// who want to know it without running the manager.
package validation

import (
	"github.com/faultline-io/faultline/providers/metal3/internal/webhook"
	"github.com/faultline-io/faultline/shared/rules"
)

// Written has the rules of creating metal3 objects of every kind, as they are written in v1beta1 or v1beta2.
func Written() (rules.Written, error) { return webhook.Written() }
