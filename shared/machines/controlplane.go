// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ControlPlaneKind is what Faultline needs to know of a kind of control plane beyond Cluster API's contract. An implementation is
// one file and an entry of ControlPlaneKinds. It has no fields, so that a ControlPlane is comparable.
type ControlPlaneKind interface {
	// Facts returns what all control planes of the kind have in common.
	Facts() ControlPlaneFacts
	// New returns an empty object to read a control plane into. It returns an error for which meta.IsNoMatchError is true while the
	// CRD of the kind is not installed.
	New(mapper meta.RESTMapper) (client.Object, error)
	// Observe returns the relevant state of an object of New.
	Observe(object client.Object) (ControlPlane, error)
	// ProtectsQuorum reports whether the control plane holds each of its machines that is being deleted with a pre-terminate hook,
	// until it has removed the machine's etcd member. For nil it reports whether all control planes of the kind do.
	ProtectsQuorum(object client.Object) bool
}

// ControlPlaneKinds lists the kinds that can replace single machines.
func ControlPlaneKinds() []ControlPlaneKind { return []ControlPlaneKind{Kubeadm{}, RKE2{}} }

// ControlPlaneKindOf returns the kind with the given name; nil if Faultline does not know it.
func ControlPlaneKindOf(name schema.GroupKind) ControlPlaneKind {
	for _, kind := range ControlPlaneKinds() {
		if kind.Facts().Kind == name {
			return kind
		}
	}
	return nil
}

// ControlPlaneKindNames returns the names of all kinds as a part of a sentence.
func ControlPlaneKindNames() string {
	var names []string
	for _, kind := range ControlPlaneKinds() {
		names = append(names, kind.Facts().Kind.Kind)
	}
	return "a " + strings.Join(names, " or ")
}

// ControlPlaneFacts is what all control planes of a kind have in common.
type ControlPlaneFacts struct {
	Kind schema.GroupKind
	// Provider is the name of the provider in clusterctl's inventory.
	Provider string
	// OldestTested is the first version of the provider with which moves are tested; later patches of the same minor version are
	// also used. docs/decisions/cloned-from.md lists the behavior on which moves depend beyond the provider's contract.
	OldestTested string
	// Surge is the field that allows one machine more than replicas.
	Surge string
	// RolloutAfter returns the field rollout.after of an object of New, which makes it replace all machines that exist at that time; nil
	// if the kind has none.
	RolloutAfter func(client.Object) *metav1.Time
}

// Tested reports whether moves are tested with a version of the provider.
func (f ControlPlaneFacts) Tested(text string) bool {
	is, err := version.ParseSemantic(text)
	oldest := version.MustParseSemantic(f.OldestTested)
	return err == nil && is.AtLeast(oldest) && is.Major() == oldest.Major() && is.Minor() == oldest.Minor()
}

// ControlPlane is the relevant state of a control plane. It is comparable: an event that does not change it is dropped.
type ControlPlane struct {
	// Kind is nil for a Cluster without a control plane, whose control plane does not exist, or is of an unknown kind.
	Kind ControlPlaneKind
	Name string // with its kind, for messages; also set if the control plane does not exist
	// Unable is why it cannot replace single machines, whatever its state is; "" if it can.
	Unable           string
	Paused, Deleting bool
	Replicas         int
	// Observed is true if its status reflects its current spec.
	Observed bool
	MaxSurge int
	// Remediation is the last machine that it deleted because the machine failed.
	Remediation Remediation
	// UpToDate is true if all machines are known to be up to date, RollingOut if some are known not to be.
	UpToDate, RollingOut, Scaling, Remediating bool
	EtcdHealthy, ComponentsHealthy             bool
	// ExternalEtcd is true if no etcd member runs on its machines, so that their number may be even.
	ExternalEtcd bool
	// RolloutAfter is rollout.after; zero if it is not set.
	RolloutAfter time.Time
	// Changed is when one of its conditions last changed.
	Changed time.Time
	// Template is the name of the infrastructure template from which machines are cloned, TemplateKind its kind and group.
	Template, TemplateKind string
	// Kubernetes is the version of Kubernetes in its spec.
	Kubernetes string
	// Version is the version of its provider; "" if unknown. It is only looked up in mode SurgeOne.
	Version string
}

// setConditions sets what a control plane reports in conditions. All kinds have the same types.
func (cp *ControlPlane) setConditions(all []metav1.Condition) {
	is := func(condition string) bool { return meta.IsStatusConditionTrue(all, condition) }
	cp.UpToDate, cp.RollingOut = is(clusterv1.MachinesUpToDateCondition), is(clusterv1.RollingOutCondition)
	cp.Scaling = is(clusterv1.ScalingUpCondition) || is(clusterv1.ScalingDownCondition)
	cp.Remediating = is(clusterv1.RemediatingCondition)
	const etcd = controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition
	// A control plane may not report on external etcd, unless another controller sets the condition.
	cp.EtcdHealthy = is(etcd) || cp.ExternalEtcd && meta.FindStatusCondition(all, etcd) == nil
	cp.ComponentsHealthy = is(controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition)
	for _, condition := range all {
		if condition.LastTransitionTime.After(cp.Changed) {
			cp.Changed = condition.LastTransitionTime.Time
		}
	}
}

// Remediation is the annotation that a control plane sets when it deletes a machine that fails. It remediates no other machine as
// long as it heeds the annotation.
type Remediation struct {
	Noted bool
	// Machine is the name of the deleted machine, and At the time; "" and zero if the annotation cannot be parsed.
	Machine string
	At      time.Time
	// Kept is true if the control plane keeps the annotation after it has created a machine, and ignores it from then on. Otherwise it
	// removes the annotation when it creates one.
	Kept bool
}

// remediationOf parses the annotation of a control plane's last remediation.
func remediationOf(annotations map[string]string) Remediation {
	text, noted := annotations[controlplanev1.RemediationInProgressAnnotation]
	if !noted {
		return Remediation{}
	}
	var note struct {
		Machine   string      `json:"machine"`
		Timestamp metav1.Time `json:"timestamp"`
	}
	if json.Unmarshal([]byte(text), &note) != nil {
		return Remediation{Noted: true}
	}
	return Remediation{Noted: true, Machine: note.Machine, At: note.Timestamp.UTC()}
}

// Heeded returns the remediation as the control plane heeds it, given when its machines were created: none if it ignores the
// annotation.
func (r Remediation) Heeded(created []time.Time) Remediation {
	if r.Kept && !r.At.IsZero() && slices.ContainsFunc(created, func(at time.Time) bool { return at.After(r.At) }) {
		return Remediation{}
	}
	return r
}
