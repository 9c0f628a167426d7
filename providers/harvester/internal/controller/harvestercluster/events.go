// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// news is an event that is told when what it is about has been stored: before that it would be told again and again.
type news struct {
	kind, reason, note string
}

func (s *scope) tell(reason, note string, args ...any) {
	s.news = append(s.news, news{corev1.EventTypeNormal, reason, fmt.Sprintf(note, args...)})
}

func (s *scope) warn(reason, note string, args ...any) {
	s.news = append(s.news, news{corev1.EventTypeWarning, reason, fmt.Sprintf(note, args...)})
}

// announce tells all of it.
func (s *scope) announce() {
	for _, n := range s.news {
		s.Recorder.Eventf(s.cluster, nil, n.kind, n.reason, "Reconcile", "%s", n.note)
	}
	s.domains.Announce()
}
