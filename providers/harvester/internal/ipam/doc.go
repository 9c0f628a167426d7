// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipam allocates addresses of Harvester's IPPools, which machines, load balancers and other programs share. A Claimer changes
// pools of another cluster for machines; an Allocator changes pools of its own cluster for load balancers. Both store concurrent changes
// of a pool in one request. Package allocation computes which holder has which address and where that is stored; package ippools selects
// the pool.
//
// # Moving to blocks
//
// The Allocator marks a pool when the status cannot hold all of its holders. The mark is set with the resourceVersion of the pool, so a
// concurrent writer of the status either comes first and is read, or gets a conflict. Afterwards the status only loses holders
// (ippools.ValidateAdded rejects additions by other clients). Any later version of the status is therefore sufficient to decide that an
// address is free there; within a block, the resourceVersion of the block decides.
//
// # Failed writes
//
// Every write covers one object, with the resourceVersion from which it was computed: either an address is held or it is not. After a
// write that failed or got no response, the cached pool is dropped and read again. The cache never allocates an address twice, because a
// stale resourceVersion is a conflict. No answer depends on the cache alone: that a holder already has an address, or that none is free,
// is confirmed with the API server. A write that got no response may take effect later. The object therefore gets a new resourceVersion
// first, which makes the late write fail.
//
// # Several writers of blocks
//
// The resourceVersions of blocks do not prevent a holder from getting an address in each of two blocks: a manager that lost the leader
// election may add one at the same moment, or may have ended with such a write in flight. A writer therefore opens a section before it
// adds a holder to a block of that section. An annotation of the pool names the writer and the sections that it has open. A writer opens
// several sections at once, so the annotation is rarely written. A writer that finds another writer there
//
//  1. adds its own name, with the resourceVersion of the pool that was read and that was unchanged after the blocks were read,
//  2. gives the blocks of the other writer's open sections a new resourceVersion, which makes all writes in flight to them fail,
//  3. and only then adds a holder.
//
// The other writer fails, reads again and finds the first one in the annotation. No writer is removed from the annotation before it has
// been fenced in this way. The blocks of a section are created empty, before the section is opened: a block that is created late does no
// harm. A block that appears after that gets no holder before its section is opened again. Repair handles holders for which other clients
// have written several addresses.
//
// A manager of an earlier version that is still writing can read these blocks, since they contain the first address of their section. Its
// additions to them fail.
//
// # Edits by other clients
//
// The Allocator caches the address of each load balancer. When a pool that it reads no longer records one of them, or is read for the
// first time, it lists the addresses that load balancers show, keeps these addresses for them, and records them again with the next
// write.
package ipam
