// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package allocation is who holds which address of an IPPool. A Pool computes that, with one bit for each address that is taken, from the pool
// and its blocks as they were read, and says in its Records what of them is to be stored then. It calls nobody: package ipam reads and writes.
//
// # Where it is stored who has an address
//
// In the status of the pool, by address and id, where other programs look for it, too: up to MaxInPool holders, so that the object stays
// below a MiB however long names are. When there are to be more, the pool is marked with BlocksAnnotation, and from then on new
// holders go into IPPoolBlocks, each of which has 32 neighbouring addresses: so few that the API server has little more to do for one of them
// than for an object with nothing in it. What is written for an address is as much for the last of a large pool as for the first. Eight
// blocks are a section. Those of earlier versions have the 256 addresses of a section, and are used as long as they have holders.
//
// An address is in one place at any moment, and none is ever moved: who is in the status stays there until the address is released. The mark
// stays when there are fewer holders again. Who reads the status of a marked pool finds the right counts, soon, and not every holder.
//
// # How addresses are given
//
// A holder gets the address that it had before, if that is free and not more than MaxHistory others were released since. Otherwise it is
// the next free one behind the last that was given. One that a load balancer has released rests for a while: nobody else is given it. When
// it was released is stored as long as it rests and is remembered for who had it, so that a manager that is started knows which rest.
//
// An address that somebody is known to have although the pool does not say so is kept: nobody else is given it, and it is entered again. One
// that somebody else is the holder of now stays with both until one of them lets go: a machine may be using it.
package allocation
