// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long a watch may take to bring what was written. After that an object is taken as the cache shows it: when etcd was
// restored from a backup, its versions are lower for good.
const patience = time.Minute

// Guard remembers what a simulator wrote, so that it does nothing twice because its cache does not show it yet. The zero value is ready.
type Guard struct {
	mu     sync.Mutex
	writes map[client.ObjectKey]write
}

type write struct {
	uid     types.UID
	version string
	at      time.Time
}

// Wrote remembers the version of an object that was just written.
func (g *Guard) Wrote(obj client.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.writes == nil {
		g.writes = map[client.ObjectKey]write{}
	}
	g.writes[client.ObjectKeyFromObject(obj)] = write{uid: obj.GetUID(), version: obj.GetResourceVersion(), at: time.Now()}
}

// Wait returns how long an object as the cache shows it is to be left alone because it is older than what was written, 0 if it is not.
// That is the longest: the event of what was written comes first, and has the object looked at again.
func (g *Guard) Wait(obj client.Object) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	last, ok := g.writes[client.ObjectKeyFromObject(obj)]
	if !ok || last.uid != obj.GetUID() {
		return 0
	}
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), last.version)
	if err != nil || order >= 0 {
		return 0
	}
	return max(0, patience-time.Since(last.at))
}

// Forget drops an object that is gone.
func (g *Guard) Forget(key client.ObjectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.writes, key)
}
