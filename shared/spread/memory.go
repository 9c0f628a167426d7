// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
)

// memory caches recent writes to infrastructure machines until the cache shows them. Without it the next machines would be spread
// as if the previous ones had no domain. The zero value is ready to use.
type memory struct {
	mu     sync.Mutex
	writes patch.Recent[write]
}

type write struct {
	uid         types.UID
	version     string
	domain, key string
	at          time.Time
}

// note records a write to an infrastructure machine.
func (m *memory) note(infra client.Object) {
	domain, key := written(infra)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.writes.Set(client.ObjectKeyFromObject(infra), write{
		uid: infra.GetUID(), version: infra.GetResourceVersion(), domain: domain, key: key, at: now,
	}, now)
}

// read returns the assignment of an infrastructure machine, from the cache or from a newer write.
func (m *memory) read(infra client.Object) (domain, key string) {
	at := client.ObjectKeyFromObject(infra)
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.writes.Get(at)
	if ok && last.uid == infra.GetUID() && patch.Stale(infra.GetResourceVersion(), last.version, last.at) {
		return last.domain, last.key
	}
	m.writes.Delete(at)
	return written(infra)
}

// written returns the assignment on an infrastructure machine.
func written(infra client.Object) (domain, key string) {
	return faultlinev1.Value(infra.GetAnnotations(), faultlinev1.AssignedFailureDomainAnnotation),
		faultlinev1.Value(infra.GetLabels(), faultlinev1.DistributionKeyLabel)
}
