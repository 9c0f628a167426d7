// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"encoding/json"
	"strings"
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
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// MachineKind is the kind of consumers written by this provider.
const MachineKind = "Metal3Machine"

// Host holds the properties of a BareMetalHost that matter for choosing it.
type Host struct {
	Namespace, Name string
	// Version is the resourceVersion at which the other fields were read.
	Version string
	// recordedAt is when the Inventory recorded the host.
	recordedAt time.Time
	// Domain is the failure domain from the host's label; "" if it has none.
	Domain string
	// Reuse is the value of the node-reuse label. It identifies the owner whose machine used the host last and whose next machine
	// gets it.
	Reuse string
	// KeptFor is the name of the Cluster that a host with a node-reuse label is kept for, if known.
	KeptFor string
	Labels  labels.Set
	// Failed is when the last machine was released from the host as failed; zero otherwise.
	Failed time.Time
	// Unavailability is why no machine can claim the host now; "" if one can.
	Unavailability Unavailability
	// Consumer is the Metal3Machine that uses the host; its Name is "" if the host is not in use.
	Consumer types.NamespacedName
}

// Unavailability is a reason why a host cannot be claimed.
type Unavailability string

// Reasons why a host is unavailable. A host has the first one that applies. Health precedes use: a domain whose hosts all run
// machines and are all in error must be reported as unhealthy.
const (
	Deleting  Unavailability = "being deleted"
	InError   Unavailability = "in error"
	NoPower   Unavailability = "without power"
	Unhealthy Unavailability = "marked unhealthy"
	Detached  Unavailability = "detached"
	InUse     Unavailability = "in use"
	Paused    Unavailability = "paused"
	External  Unavailability = "externally provisioned or unmanaged"
	NotReady  Unavailability = "not available yet"
	// The following ones depend on the machine.
	InClosedDomain Unavailability = "in a failure domain that receives no machines"
	NotSelected    Unavailability = "not matching spec.hostSelector"
	KeptForReuse   Unavailability = "kept for reuse by other machines"
	Refused        Unavailability = "refused by the API server"
	Promised       Unavailability = "reserved for another machine"
)

// Broken reports whether a host that is unavailable for this reason cannot run machines until it is repaired.
func (u Unavailability) Broken() bool {
	switch u {
	case Deleting, InError, NoPower, Unhealthy, Detached, Paused, External:
		return true
	default:
		return false
	}
}

// Observe returns the properties of a BareMetalHost that matter for choosing it.
func Observe(host *bmov1alpha1.BareMetalHost) Host {
	return Host{
		Namespace: host.Namespace, Name: host.Name, Version: host.ResourceVersion,
		Domain: host.Labels[infrav1.FailureDomainLabel], Labels: host.Labels,
		Reuse: host.Labels[infrav1.NodeReuseLabel], KeptFor: keptFor(host),
		Failed: failed(host), Unavailability: unavailability(host), Consumer: consumer(host.Spec.ConsumerRef),
	}
}

// Key returns the namespace and name of the host.
func (h Host) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: h.Namespace, Name: h.Name}
}

func unavailability(host *bmov1alpha1.BareMetalHost) Unavailability {
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

// notFree returns why a healthy host without a consumer is unavailable. A host with an image is about to be provisioned by a user.
func notFree(host *bmov1alpha1.BareMetalHost) Unavailability {
	state := host.Status.Provisioning.State
	switch {
	case external(host):
		return External
	case host.Spec.Image != nil || host.Spec.CustomDeploy != nil:
		return InUse
	case state == bmov1alpha1.StateReady || state == bmov1alpha1.StateAvailable:
		return ""
	default:
		return NotReady
	}
}

// external reports whether the host cannot be provisioned, because its operating system is installed by others or it is not managed.
func external(host *bmov1alpha1.BareMetalHost) bool {
	state := host.Status.Provisioning.State
	return host.Spec.ExternallyProvisioned || state == bmov1alpha1.StateExternallyProvisioned || state == bmov1alpha1.StateUnmanaged
}

// WithoutPower reports whether the operator cannot control the power of the host. The operator then stops working on the host,
// and only condition Manageable shows it: state, error and poweredOn keep their values. The condition is also False while a host
// is being registered, with a different reason.
func WithoutPower(host *bmov1alpha1.BareMetalHost) bool {
	found := meta.FindStatusCondition(host.Status.Conditions, bmov1alpha1.ManageableCondition)
	return found != nil && found.Status == metav1.ConditionFalse && found.Reason == bmov1alpha1.PowerFailureReason
}

// Delayed reports whether the operator has postponed work on the host because it already works on its maximum number of hosts.
func Delayed(host *bmov1alpha1.BareMetalHost) bool {
	return host.Status.OperationalStatus == bmov1alpha1.OperationalStatusDelayed
}

// ForcedDetachment is the value of the annotation that detaches a host in any state.
const ForcedDetachment = `{"force":true}`

// DetachedByForce reports whether the host's annotation makes the operator detach the host in any state.
func DetachedByForce(host *bmov1alpha1.BareMetalHost) bool {
	arguments := bmov1alpha1.DetachedAnnotationArguments{}
	return annotated(host, bmov1alpha1.DetachedAnnotation) && json.Unmarshal([]byte(host.Annotations[bmov1alpha1.DetachedAnnotation]), &arguments) == nil && arguments.Force
}

// DetachedBy returns the annotation that stops the operator from working on the host, or "".
func DetachedBy(host *bmov1alpha1.BareMetalHost) string {
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

// consumer returns the Metal3Machine that the reference names. Any API version matches, because hosts outlive upgrades.
func consumer(ref *corev1.ObjectReference) types.NamespacedName {
	if ref == nil || ref.Kind != MachineKind {
		return types.NamespacedName{}
	}
	if version, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || version.Group != infrav1.GroupVersion.Group {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// failed returns the zero time if the annotation is missing or cannot be parsed.
func failed(host *bmov1alpha1.BareMetalHost) time.Time {
	at, err := time.Parse(time.RFC3339, faultlinev1.Value(host.Annotations, infrav1.MachineFailedAnnotation))
	if err != nil {
		return time.Time{}
	}
	return at
}

// keptFor returns the Cluster that is recorded as the consumer of a host between two machines of the same owner.
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

// Named returns the name of the host that a Metal3Machine has or has tried to claim according to its annotation, "" if it has none. The
// namespace in the annotation is ignored: a host is always in the namespace of its machine.
func Named(machine metav1.Object) string {
	value := machine.GetAnnotations()[infrav1.HostAnnotation]
	return value[strings.LastIndexByte(value, '/')+1:]
}

// BelongsTo reports whether the host is claimed by the machine.
func BelongsTo(host *bmov1alpha1.BareMetalHost, machine types.NamespacedName) bool {
	return machine.Name != "" && consumer(host.Spec.ConsumerRef) == machine
}
