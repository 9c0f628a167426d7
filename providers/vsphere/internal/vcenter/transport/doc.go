// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport calls vCenter's SOAP and REST APIs: how many calls a session has under way and for how long, and who is told of them.
package transport
