// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stream keeps an index of the inventory up to date with vCenter's reports, and follows tasks.
package stream
