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

// timeout is how long a watch may take to deliver a write. After that the cached object is trusted: if etcd was restored from a
// backup, its resourceVersions stay lower.
const timeout = time.Minute

// Guard tracks the writes of a simulator, so that it does not repeat work because of a stale cache. The zero value is ready to
// use.
type Guard struct {
	mu     sync.Mutex
	writes map[client.ObjectKey]write
}

type write struct {
	uid     types.UID
	version string
	at      time.Time
}

// Wrote records the resourceVersion of an object that was just written.
func (g *Guard) Wrote(obj client.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.writes == nil {
		g.writes = map[client.ObjectKey]write{}
	}
	g.writes[client.ObjectKeyFromObject(obj)] = write{uid: obj.GetUID(), version: obj.GetResourceVersion(), at: time.Now()}
}

// Wait returns how long to skip a cached object because it is older than the last write; 0 if it is not. The event of that write
// normally arrives earlier and triggers a reconcile.
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
	return max(0, timeout-time.Since(last.at))
}

// Forget drops a deleted object.
func (g *Guard) Forget(key client.ObjectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.writes, key)
}
