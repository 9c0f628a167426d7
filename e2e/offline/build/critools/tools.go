// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins crictl, which nodes have for the people who look into them
// and for kind, which asks it for images.
package tools

import _ "sigs.k8s.io/cri-tools/cmd/crictl"
