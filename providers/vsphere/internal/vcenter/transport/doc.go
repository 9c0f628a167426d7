// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport calls the SOAP and REST APIs of vCenter. It limits the number of concurrent calls of a session and their
// duration, and reports them.
package transport
