// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package allocation computes the holders of the addresses of an IPPool. A Pool is built from the pool and its blocks as they were read,
// with one bit for each address that is taken. Its Records hold the changes to store. The package sends no requests: package ipam reads
// and writes.
//
// # Storage
//
// The status of the pool, where other programs read it, too, holds up to MaxInPool holders by address and id, so that the object stays
// below a MiB however long names are. When more holders are needed, the pool is marked with BlocksAnnotation, and from then on new
// holders are stored in IPPoolBlocks. A block has 32 adjacent addresses: few enough that the API server processes it almost as fast as an
// empty object. The cost of writing an address is the same for the first and the last address of a large pool. Eight blocks are a
// section. Blocks of earlier versions have the 256 addresses of a section and are used while they have holders.
//
// An address is recorded in exactly one object, and no record is ever moved: a holder in the status stays there until its address is
// released. The mark stays when the number of holders decreases. A client that reads the status of a marked pool finds correct counts,
// eventually, but not every holder.
//
// # Allocation
//
// A holder gets its former address if that is free and at most MaxHistory others were released since. Otherwise it gets the next free
// address after the last one that was allocated. An address that a load balancer has released is quarantined: no other holder gets it.
// The time of the release is stored while the quarantine lasts and the last holder is remembered, so that a new manager continues the
// quarantine.
//
// An address that a load balancer is known to have although the pool does not record it is kept: no other holder gets it, and it is
// recorded again. If another holder has it by now, it stays with both until one of them releases it, because a machine may be using it.
package allocation
