// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// pendingEvent is an event that is recorded only after the change that it reports was stored. Recorded earlier, it would repeat with each
// retry.
type pendingEvent struct {
	kind, reason, note string
}

func (s *scope) record(reason, note string, args ...any) {
	s.pendingEvents = append(s.pendingEvents, pendingEvent{corev1.EventTypeNormal, reason, fmt.Sprintf(note, args...)})
}

func (s *scope) warn(reason, note string, args ...any) {
	s.pendingEvents = append(s.pendingEvents, pendingEvent{corev1.EventTypeWarning, reason, fmt.Sprintf(note, args...)})
}

// recordEvents records the collected events.
func (s *scope) recordEvents() {
	for _, n := range s.pendingEvents {
		s.Recorder.Eventf(s.cluster, nil, n.kind, n.reason, "Reconcile", "%s", n.note)
	}
	s.domains.RecordEvents()
}
