// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package nodes_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/faultline-io/faultline/shared/integration"
)

func TestLabelWriteBackoff(t *testing.T) {
	// This test must not run in parallel: the policy changes Nodes of other tests.
	w := newFixture(t)
	quarrel, config := w.user().Contention(apiServer, "")
	w.create(&corev1.Secret{ObjectMeta: w.meta("one-kubeconfig"), Data: map[string][]byte{"value": integration.Kubeconfig(w.user(), config, "")}})
	w.start()
	w.join(unchanged)
	w.Eventually(w.labels).Should(HaveKeyWithValue(corev1.LabelTopologyZone, "zone-a"))
	quarrel.About(integration.Marked{Object: w.node(), Mark: corev1.LabelTopologyZone})
}
