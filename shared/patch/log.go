// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// logConditions logs, at the default level, each condition whose status, reason or message differs between before and after. All
// controllers use the same log keys, "object", "Cluster" and "owner"; Cluster or owner is omitted if the object does not name
// one.
func logConditions(ctx context.Context, before, after client.Object) {
	was, ok := before.(conditions.Getter)
	if !ok {
		return
	}
	log := ctrl.LoggerFrom(ctx).WithValues(keys(after)...)
	is, _ := after.(conditions.Getter)
	for _, now := range is.GetConditions() {
		old := conditions.Get(was, now.Type)
		if old != nil && old.Status == now.Status && old.Reason == now.Reason && old.Message == now.Message {
			continue
		}
		from := metav1.ConditionStatus("")
		if old != nil {
			from = old.Status
		}
		log.Info("Condition changed", "condition", now.Type, "from", from, "status", now.Status, "reason", now.Reason, "message", now.Message)
	}
	for _, old := range was.GetConditions() {
		if !conditions.Has(is, old.Type) {
			log.Info("Condition removed", "condition", old.Type, "from", old.Status)
		}
	}
}

// keys returns the key-value pairs that identify an object in a log line.
func keys(obj client.Object) []any {
	pairs := []any{"object", klog.KObj(obj)}
	if owner := metav1.GetControllerOf(obj); owner != nil {
		pairs = append(pairs, "owner", owner.Kind+"/"+owner.Name)
	}
	if cluster := obj.GetLabels()[clusterv1.ClusterNameLabel]; cluster != "" {
		pairs = append(pairs, "Cluster", klog.KRef(obj.GetNamespace(), cluster))
	}
	return pairs
}
