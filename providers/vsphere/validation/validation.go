// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation is what the webhooks refuse and which feature gates the manager knows, for those who want to know it before they ask.
package validation

import (
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/limits"
	"github.com/faultline-io/faultline/providers/vsphere/internal/webhook"
	"github.com/faultline-io/faultline/shared/rules"
)

// MinMemoryMiB is what a machine gets that asks for less.
const MinMemoryMiB = limits.MinMemoryMiB

// Written has the rules of creating vSphere objects of every kind, as they are written in v1beta1 or v1beta2.
func Written() (rules.Written, error) { return webhook.Written() }
