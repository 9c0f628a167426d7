// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package rebalance_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/watch"
)

// Another client removes what a move has written whenever it is written.
func TestRevertedMoveAnnotations(t *testing.T) {
	t.Parallel()
	const mostWrites = 12 // a move that is begun and undone twice
	for annotation, object := range map[string]func(*fixture) client.Object{
		faultlinev1.CurrentMoveAnnotation: func(w *fixture) client.Object { return w.infra() },
		clusterv1.DeleteMachineAnnotation: func(w *fixture) client.Object { return w.machineNow("m0") },
	} {
		t.Run(annotation, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "aab", "abc")
			contention, config := w.user().Contention(apiServer, "")
			contention.Revert(integration.Marked{Object: object(w), Mark: annotation})
			integration.Start(t, config, nil, ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}, func(ctx context.Context, mgr ctrl.Manager) error {
				return w.reconciler(mgr.GetClient()).SetupWithManager(ctx, mgr, "", watch.Concurrency(1))
			})
			message := w.user().Condition(w.infra(), faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonAnnotationsRemoved)
			w.Expect(message).To(ContainSubstring("another client removes or changes the annotation " + annotation))
			w.Consistently(func() int { return contention.Count(object(w)) }, "2s").Should(And(BeNumerically(">", 1), BeNumerically("<=", mostWrites)))
		})
	}
}
