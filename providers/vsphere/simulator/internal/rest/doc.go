// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest serves the REST APIs of a simulated vCenter that vcsim implements insufficiently: tags and categories with their
// permissions and rules, and cluster modules.
package rest
