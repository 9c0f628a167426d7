// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// hostProgressed passes updates that change a field of the host which the machine reports or waits for. Setting the consumer is
// ignored, because the machine has just done that itself; creation with a consumer, from a backup, passes.
func hostProgressed() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*bmov1alpha1.BareMetalHost), e.ObjectNew.(*bmov1alpha1.BareMetalHost)
			return before.Spec.ConsumerRef != nil && !equality.Semantic.DeepEqual(before.Spec.ConsumerRef, after.Spec.ConsumerRef) ||
				reportedStateOf(before) != reportedStateOf(after) ||
				reservedChanged(before, after) ||
				configurationRemoved(before, after) ||
				!hosts.MoveUnblocked(before) && hosts.MoveUnblocked(after) ||
				!equality.Semantic.DeepEqual(before.Status.HardwareDetails, after.Status.HardwareDetails)
		},
	}
}

// reportedState holds the fields of a host that its machine reports or waits for.
type reportedState struct {
	state                                              bmov1alpha1.ProvisioningState
	errorMessage, domain, paused, detachedBy           string
	poweredOn, withoutPower, delayed, forced, deleting bool
}

func reportedStateOf(host *bmov1alpha1.BareMetalHost) reportedState {
	return reportedState{
		state: host.Status.Provisioning.State, errorMessage: host.Status.ErrorMessage, domain: host.Labels[infrav1.FailureDomainLabel],
		paused: host.Annotations[bmov1alpha1.PausedAnnotation], detachedBy: hosts.DetachedBy(host),
		poweredOn: host.Status.PoweredOn, withoutPower: hosts.WithoutPower(host), delayed: hosts.Delayed(host), forced: hosts.DetachedByForce(host),
		deleting: !host.DeletionTimestamp.IsZero(),
	}
}

// configurationRemoved reports whether a machine has just removed the configuration from its host. If provisioning had not
// started, nothing else changes, and the host is vacant at once.
func configurationRemoved(before, after *bmov1alpha1.BareMetalHost) bool {
	return before.Generation != after.Generation && before.Spec.ConsumerRef != nil && after.Spec.Image == nil && after.Spec.CustomDeploy == nil
}

// domainsChanged passes updates of clusters that change which failure domains receive machines. Their free capacity is ignored,
// because the inventory tracks it.
func domainsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*infrav1.Metal3Cluster), e.ObjectNew.(*infrav1.Metal3Cluster)
		same := func(a, b faultlinev1.DomainStatus) bool {
			return a.Name == b.Name && a.State == b.State && a.Reason == b.Reason
		}
		return before.Generation != after.Generation ||
			!slices.EqualFunc(before.Status.Distribution.FailureDomains, after.Status.Distribution.FailureDomains, same)
	}}
}

// claimStatusChanged passes claims that got their data or an error, and deleted claims.
func claimStatusChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !equality.Semantic.DeepEqual(e.ObjectOld.(*infrav1.Metal3DataClaim).Status, e.ObjectNew.(*infrav1.Metal3DataClaim).Status)
		},
	}
}

// dataStatusChanged passes data that became ready or got an error, and deleted data.
func dataStatusChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !equality.Semantic.DeepEqual(e.ObjectOld.(*infrav1.Metal3Data).Status, e.ObjectNew.(*infrav1.Metal3Data).Status)
		},
	}
}

// identityOf returns the fields of a Node that identify its machine.
func identityOf(node *corev1.Node) string {
	return strings.Join([]string{node.Spec.ProviderID, node.Labels[infrav1.NodeUUIDLabel], node.Labels[corev1.LabelHostname]}, " ")
}
