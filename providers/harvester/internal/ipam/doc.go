// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipam gives addresses of Harvester's IPPools, which machines, load balancers and other programs share. Pool computes, with one
// bit for each address that is taken. A Claimer changes pools of another cluster for machines, an Allocator those of the cluster that it
// runs in for load balancers; each stores what its many callers want of a pool by one request. Select chooses a pool.
//
// # Where it is stored who has an address
//
// In the status of the pool, by address and id, where other programs look for it, too: up to MaxInPool holders, so that the object stays
// below a MiB however long names are. When there are to be more, the Allocator marks the pool with BlocksAnnotation, and from then on new
// holders go into IPPoolBlocks, each of which has 32 neighbouring addresses: so few that the API server has little more to do for one of them
// than for an object with nothing in it. What is written for an address is as much for the last of a large pool as for the first. Eight
// blocks are a section. Those of earlier versions have the 256 addresses of a section, and are used as long as they have holders.
//
// An address is in one place at any moment, and none is ever moved: who is in the status stays there until the address is released. The
// mark is set with the version of the pool, so who adds to the status at that moment either comes before, and is seen, or fails. Afterwards
// the status only loses holders (ValidateAdded refuses others' additions), so whatever is known of it since is enough to know that an
// address is free there; and within a block the version of the block decides. The mark stays when there are fewer holders again.
// Who reads the status of a marked pool finds the right counts, soon, and not every holder.
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
// asks what load balancers show, and keeps those addresses for them: nobody else is given one, and with the next write they are entered again.
// An address that somebody else is the holder of now stays with both until one of them lets go: a machine may be using it.
//
// # How addresses are given
//
// A holder gets the address that it had before, if that is free and not more than MaxHistory others were released since. Otherwise it is
// the next free one behind the last that was given. One that a load balancer has released rests for a while: nobody else is given it. When
// it was released is stored as long as it rests and is remembered for who had it, so that a manager that is started knows which rest.
package ipam
