// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport calls the SOAP and REST APIs of vCenter. It limits how many calls a session runs, and for how long, and reports them.
package transport
