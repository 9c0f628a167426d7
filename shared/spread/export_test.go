// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/provider"
)

// ToDelete returns up to n machines of a MachineDeployment to delete.
func ToDelete(c Cluster, deployment string, n int) ([]string, error) {
	return c.newDeletionOrder(deployment).toDelete(n)
}

// Kept returns what the reconciler keeps for a cluster, by the name of its field.
func (r *Reconciler) Kept(cluster provider.Cluster) (fields []string) {
	key := client.ObjectKeyFromObject(cluster)
	cluster.SetCreationTimestamp(metav1.Time{}) // A cluster that was not written would have this time.
	if !r.clusters.At(cluster).IsZero() {
		fields = append(fields, "clusters")
	}
	if _, kept := r.busy.Load(key); kept {
		fields = append(fields, "busy")
	}
	if _, kept := r.markedByOthers.Load(key); kept {
		fields = append(fields, "markedByOthers")
	}
	return fields
}
