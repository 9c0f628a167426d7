// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package distributiontest has what users get wrong about failure domains, a row each: what they do, what a condition then says, and
// that no machine is moved for it. Every provider plays all rows in one World, with its own kinds and its manager.
package distributiontest
