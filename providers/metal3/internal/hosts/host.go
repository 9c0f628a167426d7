// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"encoding/json"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// MachineKind is the kind of the consumers that this provider writes.
const MachineKind = "Metal3Machine"

// Host is what a choice needs to know of a BareMetalHost.
type Host struct {
	Namespace, Name string
	// Version is the resource version at which the rest was read.
	Version string
	// learnt is when the Inventory was told of it.
	learnt time.Time
	// Domain is the failure domain that the host's label names; "" means none.
	Domain string
	// Reuse is the value of the node-reuse label: whose machine had the host last, and gets it again.
	Reuse string
	// KeptFor is the Cluster that a host with such a label is kept for, where that is known.
	KeptFor string
	Labels  labels.Set
	// Failed is when the last machine gave the host up, if it had no luck with it; zero otherwise.
	Failed time.Time
	// Obstacle says why no machine can have the host now; "" when one can.
	Obstacle Obstacle
	// Consumer is the Metal3Machine that has the host; its Name is "" when none has.
	Consumer types.NamespacedName
}

// Obstacle is why a host cannot be had.
type Obstacle string

// Obstacles. A host has the first that applies, health before use: a domain whose hosts all run machines and are all in
// error is to be known as bad.
const (
	Deleting  Obstacle = "being deleted"
	InError   Obstacle = "in error"
	NoPower   Obstacle = "without power"
	Unhealthy Obstacle = "marked unhealthy"
	Detached  Obstacle = "detached"
	InUse     Obstacle = "in use"
	Paused    Obstacle = "paused"
	External  Obstacle = "externally provisioned or unmanaged"
	NotReady  Obstacle = "not available yet"
	// The rest depends on who asks.
	InClosedDomain Obstacle = "in a failure domain that receives no machines"
	NotSelected    Obstacle = "not matching spec.hostSelector"
	KeptForReuse   Obstacle = "kept for reuse by other machines"
	Refused        Obstacle = "refused by the API server"
	Promised       Obstacle = "about to be taken by another machine"
)

// Broken reports whether a host with the obstacle can run no machine until somebody repairs it.
func (o Obstacle) Broken() bool {
	switch o {
	case Deleting, InError, NoPower, Unhealthy, Detached, Paused, External:
		return true
	default:
		return false
	}
}

// Observe reduces a BareMetalHost to what a choice needs.
func Observe(host *bmov1alpha1.BareMetalHost) Host {
	return Host{
		Namespace: host.Namespace, Name: host.Name, Version: host.ResourceVersion,
		Domain: host.Labels[infrav1.FailureDomainLabel], Labels: host.Labels,
		Reuse: host.Labels[infrav1.NodeReuseLabel], KeptFor: keptFor(host),
		Failed: failed(host), Obstacle: obstacle(host), Consumer: consumer(host.Spec.ConsumerRef),
	}
}

// Key is the host's namespace and name.
func (h Host) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: h.Namespace, Name: h.Name}
}

func obstacle(host *bmov1alpha1.BareMetalHost) Obstacle {
	switch {
	case !host.DeletionTimestamp.IsZero():
		return Deleting
	case host.Status.ErrorMessage != "" || host.Status.OperationalStatus == bmov1alpha1.OperationalStatusError:
		return InError
	case WithoutPower(host):
		return NoPower
	case annotated(host, infrav1.UnhealthyAnnotation) || annotated(host, infrav1.LegacyUnhealthyAnnotation):
		return Unhealthy
	case annotated(host, bmov1alpha1.DetachedAnnotation) || host.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached:
		return Detached
	case host.Spec.ConsumerRef != nil && keptFor(host) == "":
		return InUse
	case annotated(host, bmov1alpha1.PausedAnnotation):
		return Paused
	default:
		return notFree(host)
	}
}

// notFree judges a healthy host without a consumer. One that has been given an image is about to be provisioned by hand.
func notFree(host *bmov1alpha1.BareMetalHost) Obstacle {
	state := host.Status.Provisioning.State
	switch {
	case host.Spec.ExternallyProvisioned || state == bmov1alpha1.StateExternallyProvisioned || state == bmov1alpha1.StateUnmanaged:
		return External
	case host.Spec.Image != nil || host.Spec.CustomDeploy != nil:
		return InUse
	case state == bmov1alpha1.StateReady || state == bmov1alpha1.StateAvailable:
		return ""
	default:
		return NotReady
	}
}

// WithoutPower reports whether the operator cannot reach the power of the host's machine. It then does nothing with the host, and its
// condition Manageable is the only sign: state, error and poweredOn stay as they were. That condition is also False while a host is
// registered, for another reason.
func WithoutPower(host *bmov1alpha1.BareMetalHost) bool {
	found := meta.FindStatusCondition(host.Status.Conditions, bmov1alpha1.ManageableCondition)
	return found != nil && found.Status == metav1.ConditionFalse && found.Reason == bmov1alpha1.PowerFailureReason
}

// Delayed reports whether the operator has put off what the host is to do: it works on no more hosts at a time than it is configured to.
func Delayed(host *bmov1alpha1.BareMetalHost) bool {
	return host.Status.OperationalStatus == bmov1alpha1.OperationalStatusDelayed
}

// ForcedDetachment is the value of the annotation that detaches a host in whatever state it is.
const ForcedDetachment = `{"force":true}`

// DetachedByForce reports whether the host's annotation makes its operator give the host up in whatever state it is.
func DetachedByForce(host *bmov1alpha1.BareMetalHost) bool {
	arguments := bmov1alpha1.DetachedAnnotationArguments{}
	return annotated(host, bmov1alpha1.DetachedAnnotation) && json.Unmarshal([]byte(host.Annotations[bmov1alpha1.DetachedAnnotation]), &arguments) == nil && arguments.Force
}

// LeftAlone names the annotation for which the operator does nothing with the host, "" when there is none.
func LeftAlone(host *bmov1alpha1.BareMetalHost) string {
	for _, key := range []string{bmov1alpha1.PausedAnnotation, bmov1alpha1.DetachedAnnotation} {
		if annotated(host, key) {
			return key
		}
	}
	return ""
}

func annotated(host *bmov1alpha1.BareMetalHost, key string) bool {
	_, ok := host.Annotations[key]
	return ok
}

// consumer is the Metal3Machine that a reference means. Its API version may be any: hosts outlive upgrades.
func consumer(ref *corev1.ObjectReference) types.NamespacedName {
	if ref == nil || ref.Kind != MachineKind {
		return types.NamespacedName{}
	}
	if version, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || version.Group != infrav1.GroupVersion.Group {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// failed takes what cannot be read as a time for a host that has failed nobody.
func failed(host *bmov1alpha1.BareMetalHost) time.Time {
	at, err := time.Parse(time.RFC3339, host.Annotations[infrav1.MachineFailedAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// keptFor is the Cluster that stands in as the consumer of a host between two machines of the same owner.
func keptFor(host *bmov1alpha1.BareMetalHost) string {
	ref := host.Spec.ConsumerRef
	if ref == nil || host.Labels[infrav1.NodeReuseLabel] == "" || ref.Kind != "Cluster" {
		return ""
	}
	if version, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || version.Group != clusterv1.GroupVersion.Group {
		return ""
	}
	return ref.Name
}

// BelongsTo reports whether the host is claimed by the machine.
func BelongsTo(host *bmov1alpha1.BareMetalHost, machine types.NamespacedName) bool {
	return machine.Name != "" && consumer(host.Spec.ConsumerRef) == machine
}
