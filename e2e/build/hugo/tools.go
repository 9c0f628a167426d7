// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools pins Hugo, which builds the documentation site, and its theme Hextra. The theme has no Go package, so `go mod tidy` removes
// its requirement: after it, run `go get github.com/imfing/hextra@VERSION`.
package tools

import (
	_ "github.com/gohugoio/hugo"
)
