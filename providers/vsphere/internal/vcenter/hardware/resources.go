// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import "github.com/vmware/govmomi/vim25/types"

// Allocation holds the reservation, limit and shares of a resource. Zeros leave the template's.
type Allocation struct {
	Reservation, Limit int64
	Shares             int32
}

// info returns nil if there is nothing to set.
func (a Allocation) info() *types.ResourceAllocationInfo {
	if a == (Allocation{}) {
		return nil
	}
	info := &types.ResourceAllocationInfo{}
	if a.Reservation != 0 {
		info.Reservation = &a.Reservation
	}
	if a.Limit != 0 {
		info.Limit = &a.Limit
	}
	if a.Shares != 0 {
		info.Shares = &types.SharesInfo{Shares: a.Shares, Level: types.SharesLevelCustom}
	}
	return info
}

// Encryption holds how to encrypt a virtual machine.
type Encryption struct {
	FaultTolerance, Migration string // modes of the traffic, in vCenter's terms; "" leaves the template's
	// Key names a key provider, which creates a key for the machine, or an existing key.
	Key string
}
