// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins the cert-manager commands that run in the kind cluster. They
// are built from here because cert-manager replaces a module, which `go install
// pkg@version` refuses. 1.11 is the last line whose commands are in its root module.
package tools

import (
	_ "github.com/cert-manager/cert-manager/cmd/cainjector"
	_ "github.com/cert-manager/cert-manager/cmd/controller"
	_ "github.com/cert-manager/cert-manager/cmd/webhook"
)
