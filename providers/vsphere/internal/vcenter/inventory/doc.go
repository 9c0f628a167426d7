// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory keeps a vCenter's inventory as the updates of a property collector describe it, and the tasks that are followed; finds in
// it what placements and zones name; and decides what of a zone is made, put back and removed. It calls nobody.
package inventory
