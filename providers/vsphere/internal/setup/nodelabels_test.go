// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/vsphere/internal/setup"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
)

// labelNodes restarts the manager with connections to workload clusters. The API server plays the only one, and holds its
// Nodes.
func (w *fixture) labelNodes() {
	w.t.Helper()
	w.stop()
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}
	w.stop = integration.Start(w.t, apiServer, user.RESTMapper(), options, func(ctx context.Context, mgr ctrl.Manager) error {
		return setup.Add(ctx, mgr, setup.Options{
			CredentialsFile: w.file, Namespace: w.name, WatchFilter: w.name, Log: slog.New(slog.DiscardHandler),
			Metrics: prometheus.NewRegistry(), RetryAfter: time.Second, LabelNodes: true,
		})
	})
}

// The labels are the tags of the failure domain, as vSphere's cloud provider would set them.
func TestNodeHasTheTagsOfItsZoneAsLabels(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.threeZones()
	w.labelNodes()
	w.cluster("one")
	w.create(&corev1.Secret{ObjectMeta: w.meta("one-kubeconfig"), Data: map[string][]byte{"value": kubeconfig}})
	w.waitForProvisioned(w.machine("one", "node", w.name+"-b"))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name}}
	w.create(node)
	owner := &clusterv1.Machine{ObjectMeta: w.meta("node")}
	updateStatus(w, owner, func(owner *clusterv1.Machine) { owner.Status.NodeRef = clusterv1.MachineNodeReference{Name: node.Name} })
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(node), node)).To(Succeed())
		g.Expect(node.Labels).To(And(HaveKeyWithValue(corev1.LabelTopologyZone, "zone-b"), HaveKeyWithValue(corev1.LabelTopologyRegion, simulator.RegionTag)))
	}).Should(Succeed())
}
