// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import "github.com/vmware/govmomi/vim25/types"

// Allocation is what of a resource a virtual machine is guaranteed, what it may use at most, and what it weighs against
// others. Zeros leave the template's.
type Allocation struct {
	Reservation, Limit int64
	Shares             int32
}

// info returns nil if there is nothing to say.
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

// Encryption is how a virtual machine is encrypted.
type Encryption struct {
	FaultTolerance, Migration string // modes of the traffic, in vCenter's words; "" leaves the template's
	// Key names a key provider, which makes a key for the machine, or a key of one.
	Key string
}
