// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator plays what the bare-metal operator knows and does besides the states of hosts, which package lifecycle decides: it switches the
// machines of hosts on and off and tells hooks what they boot, knows what an inspection finds and keeps it as HardwareData, knows how far hosts are
// with what they do and how long that takes, and keeps the Secrets of BMCs as long as their hosts. It labels the Secrets that it reads, as the
// operator does so that its cache, which has no others, shows them. Policies of the API server refuse what the operator's webhook refuses, and a
// table has the faults that keep hosts from doing as they are told.
package operator
