// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/faultline-io/faultline/shared/watch"
)

func TestCollect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		defer queue.ShutDown()
		collect := watch.Collect(func(_ context.Context, o client.Object) []ctrl.Request {
			return []ctrl.Request{{NamespacedName: client.ObjectKey{Name: o.GetLabels()[clusterv1.ClusterNameLabel]}}}
		})
		for range 100 {
			collect.Create(t.Context(), event.CreateEvent{Object: machine("m", "one")}, queue)
			collect.Update(t.Context(), event.UpdateEvent{ObjectOld: machine("m", "one"), ObjectNew: machine("m", "two")}, queue)
			collect.Delete(t.Context(), event.DeleteEvent{Object: machine("m", "two")}, queue)
		}
		synctest.Wait()
		g.Expect(queue.Len()).To(BeZero(), "nothing is enqueued at once")
		time.Sleep(time.Minute) //nolint:forbidigo // the clock of the bubble does not wait
		g.Expect(queue.Len()).To(Equal(2))
	})
}
