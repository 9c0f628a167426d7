// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins crictl, which nodes include for debugging and because kind lists images with it.
package tools

import _ "sigs.k8s.io/cri-tools/cmd/crictl"
