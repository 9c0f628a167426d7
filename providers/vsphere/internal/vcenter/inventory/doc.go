// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory keeps a vCenter's inventory, as reported by a property collector, and the followed tasks. It looks up the
// objects that placements and zones name, and decides what to create, repair and remove for a zone. It makes no calls.
package inventory
