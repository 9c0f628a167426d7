// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest serves the REST APIs of a simulated vCenter for which vcsim's own do not suffice: tags with their categories and what is
// refused of those who make and attach them, and cluster modules.
package rest
