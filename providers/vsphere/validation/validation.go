// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation exposes the webhooks' validation and the manager's feature gates to other programs.
package validation

import (
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/limits"
	"github.com/faultline-io/faultline/providers/vsphere/internal/webhook"
	"github.com/faultline-io/faultline/shared/rules"
)

// MinMemoryMiB is the minimum memory size of a machine. Smaller requests are raised to it.
const MinMemoryMiB = limits.MinMemoryMiB

// Written returns the create validation of all vSphere kinds, for objects in v1beta1 or v1beta2.
func Written() (rules.Validators, error) { return webhook.Written() }
