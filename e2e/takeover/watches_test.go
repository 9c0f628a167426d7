// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// watches counts the watches of a controller.
type watches struct {
	controller.TypedController[reconcile.Request]
	count int
}

func (w *watches) Watch(source.TypedSource[reconcile.Request]) error {
	w.count++
	return nil
}

// Cluster API's controllers read infrastructure in the version that the CRD names for its contract, which a takeover changes, but still
// watch the previous version. An event of that watch may arrive before the cache of the new version has the change, so a Machine keeps
// waiting for a deleted VSphereMachine. The documentation therefore requires a restart of its manager. If this test fails, the restart is
// no longer needed.
func TestClusterAPIWatchesFirstVersionUntilRestart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	seen, log := &watches{}, logr.Discard()
	tracker := &external.ObjectTracker{Controller: seen, Cache: &informertest.FakeInformers{}, Scheme: runtime.NewScheme(), PredicateLogger: &log}
	for _, version := range []string{"v1beta1", "v1beta2"} {
		machine := &unstructured.Unstructured{}
		machine.SetAPIVersion("infrastructure.cluster.x-k8s.io/" + version)
		machine.SetKind("VSphereMachine")
		g.Expect(tracker.Watch(log, machine, &handler.EnqueueRequestForObject{})).To(Succeed())
	}
	g.Expect(seen.count).To(Equal(1))
}
