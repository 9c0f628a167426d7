// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipam gives addresses of Harvester's IPPools, which machines, load balancers and other programs share. A Claimer changes pools of
// another cluster for machines, an Allocator those of the cluster that it runs in for load balancers; each stores what its many callers want of a
// pool by one request. Who holds what, and what of that is stored where, is in package allocation; which pool it is, in package ippools.
//
// # When holders go into blocks
//
// The Allocator marks a pool that is to have more holders than its status can. The mark is set with the version of the pool, so who adds to the
// status at that moment either comes before, and is seen, or fails. Afterwards the status only loses holders (ippools.ValidateAdded refuses
// others' additions), so whatever is known of it since is enough to know that an address is free there; and within a block the version of the
// block decides.
//
// # When writes fail
//
// Every write is one object with the version that it was computed from: an address is held or not. After a write
// that failed, or was not answered, what is known of the pool is thrown away and read again. What is remembered gives no address twice,
// since a version that is not the stored one is refused, and it is never all that an answer is based on: that somebody has an address
// already, or that none is free, is looked up. A write that was not answered may take effect later: the object is given another version
// first, so that it does not.
//
// # Several writers of blocks
//
// Versions of blocks do not keep a holder from an address in each of two: a manager that does not lead any more may give one at the same
// moment, or have ended with such a write on its way. So a writer opens a section before it adds a holder to a block of it: an annotation of
// the pool names the writer and the sections that it has open, some of them at a time, so that it is seldom written. Who finds another writer
// there
//
//  1. names itself beside it, with the version of the pool that was read, and found to be the same after its blocks were,
//  2. gives the blocks of the sections that the other has open another version, which has all writes to them fail that are on their way,
//  3. and only then adds a holder.
//
// The other one fails, reads again, and finds the first there; and none is left out of the annotation before it has been kept from writing in
// this way. The blocks of a section are made before it is opened, and empty: one that is made late is in nobody's way. To one that comes
// later nobody is added before it is opened again. Repair is for holders to whom somebody else has written several addresses.
//
// A manager of an earlier version that is still writing reads blocks as they are now, since they say the first address of their section, and
// fails when it adds to them.
//
// # When somebody edits who holds what
//
// The Allocator remembers which load balancer has which address. When a pool that it reads does not say so any more, or is read first, it
// asks what load balancers show, and has those addresses kept for them and entered again with the next write.
package ipam
