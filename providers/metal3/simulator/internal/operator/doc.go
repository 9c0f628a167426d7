// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator simulates the parts of the bare-metal operator other than the state machine of hosts, which is in package
// lifecycle. It powers machines on and off and calls hooks with their boot data; holds the result of inspections as HardwareData;
// tracks the progress and delays of hosts; and protects BMC Secrets while their hosts exist. It labels the Secrets that it reads,
// as the operator does because its cache contains only labelled Secrets. Admission policies reject what the operator's webhook
// rejects, and a table holds the active faults.
package operator
