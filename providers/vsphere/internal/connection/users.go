// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// users tracks the accounts whose sessions each object requested, so that only those are notified when it ends. It is
// rebuilt after a restart, because a controller reconciles every object once when it starts. The zero value is ready to use.
type users struct {
	mu sync.Mutex
	// byAccount has the keys of vcenter.Endpoint.Account.
	byAccount map[string]map[use]struct{}
	account   map[use]string
}

// use is one reason for which an object requests an account: a VSphereCluster can have machines on several servers, and a zone
// can be checked with the accounts of several clusters.
type use struct {
	by  client.ObjectKey
	why string
}

// record records the account of a use and replaces the previous one.
func (u *users) record(by client.ObjectKey, why, account string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.account == nil {
		u.byAccount, u.account = map[string]map[use]struct{}{}, map[use]string{}
	}
	one := use{by: by, why: why}
	former, known := u.account[one]
	if known && former == account {
		return
	}
	if known {
		u.drop(one, former)
	}
	if u.byAccount[account] == nil {
		u.byAccount[account] = map[use]struct{}{}
	}
	u.byAccount[account][one] = struct{}{}
	u.account[one] = account
}

func (u *users) drop(one use, account string) {
	if delete(u.byAccount[account], one); len(u.byAccount[account]) == 0 {
		delete(u.byAccount, account)
	}
	delete(u.account, one)
}

// of returns each user of an account once.
func (u *users) of(account string) []client.ObjectKey {
	u.mu.Lock()
	defer u.mu.Unlock()
	seen := map[client.ObjectKey]struct{}{}
	var keys []client.ObjectKey
	for one := range u.byAccount[account] {
		if _, twice := seen[one.by]; !twice {
			seen[one.by] = struct{}{}
			keys = append(keys, one.by)
		}
	}
	return keys
}

// forget drops a deleted object.
func (u *users) forget(by client.ObjectKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for one, account := range u.account {
		if one.by == by {
			u.drop(one, account)
		}
	}
}
