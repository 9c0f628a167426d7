// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"fmt"
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Deprovision removes the image from the host, and the Secrets that the machine has set. Metadata and network data of the host
// itself are kept for the next machine. It reports whether the host was changed; a changed host must be observed again before it
// can be vacant.
func (h *Hosts) Deprovision(ctx context.Context, host *bmov1alpha1.BareMetalHost, secrets *MachineSecrets) (changed bool, _ error) {
	before := host.DeepCopy()
	spec := &host.Spec
	if spec.Image != nil || spec.CustomDeploy != nil || secrets.UserData.has(spec.UserData) {
		spec.UserData = nil // The image and the user data are always set together.
	}
	if secrets.MetaData.has(spec.MetaData) {
		spec.MetaData = nil
	}
	if secrets.NetworkData.has(spec.NetworkData) {
		spec.NetworkData = nil
	}
	spec.Image, spec.CustomDeploy = nil, nil
	spec.Online = h.staysOn(host)
	if equality.Semantic.DeepEqual(before.Spec, host.Spec) {
		return false, nil
	}
	return true, h.patch(ctx, host, before)
}

// MachineSecrets holds the names of the Secrets that a machine has set, or may have set, on its host.
type MachineSecrets struct {
	UserData, MetaData, NetworkData SecretNames
}

// SecretNames are names of Secrets in the namespace of a host.
type SecretNames []string

// has reports whether the reference names one of the Secrets. Machines use only Secrets of their own namespace.
func (names SecretNames) has(ref *corev1.SecretReference) bool {
	return ref != nil && slices.Contains(names, ref.Name)
}

// staysOn reports whether a host without a machine stays powered on.
func (h *Hosts) staysOn(host *bmov1alpha1.BareMetalHost) bool {
	if host.Spec.DisablePowerOff {
		return true
	}
	return h.FastTrack && host.Spec.AutomatedCleaningMode != bmov1alpha1.CleaningModeDisabled
}

// Vacant reports whether a deprovisioned host no longer runs anything of its machine.
func Vacant(host *bmov1alpha1.BareMetalHost) bool {
	switch host.Status.Provisioning.State {
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged, bmov1alpha1.StateRegistering, bmov1alpha1.StateMatchProfile,
		bmov1alpha1.StateInspecting, bmov1alpha1.StateReady, bmov1alpha1.StateAvailable:
		return true
	case bmov1alpha1.StateExternallyProvisioned:
		// Such a host cannot be deprovisioned, only powered off.
		return !host.Status.PoweredOn || host.Spec.Online
	default:
		return false
	}
}

// ReleaseOptions describes how a machine releases its host.
type ReleaseOptions struct {
	// Machine is the name of the machine.
	Machine string
	// Reuse is the value of the node-reuse label if the host is kept for other machines of the same owner; "" otherwise.
	Reuse string
	// Failed records on the host that the machine has failed on it.
	Failed bool
}

// Release removes the machine from the host. A host that is kept for reuse gets the Cluster as its consumer.
func (h *Hosts) Release(ctx context.Context, host *bmov1alpha1.BareMetalHost, options ReleaseOptions) error {
	// A machine that is already being deleted when this release takes over has not been adopted.
	if err := h.unlabelSecret(ctx, host, options.Machine); err != nil {
		return err
	}
	before := host.DeepCopy()
	faultlinev1.Rename(host)
	cluster := host.Labels[clusterv1.ClusterNameLabel]
	host.Spec.ConsumerRef = nil
	host.OwnerReferences = withoutOwner(host.OwnerReferences, options.Machine)
	delete(host.Labels, clusterv1.ClusterNameLabel)
	delete(host.Annotations, clusterctlv1.BlockMoveAnnotation)
	if pausedByUs(host) {
		delete(host.Annotations, bmov1alpha1.PausedAnnotation)
		delete(host.Annotations, bmov1alpha1.StatusAnnotation)
	}
	if options.Failed {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.MachineFailedAnnotation, h.Clock.Now().UTC().Format(time.RFC3339))
	}
	if options.Reuse != "" && cluster != "" {
		metav1.SetMetaDataLabel(&host.ObjectMeta, infrav1.NodeReuseLabel, options.Reuse)
		host.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Namespace: host.Namespace, Name: cluster,
		}
	}
	return h.patch(ctx, host, before)
}

// ReleaseKept releases the hosts that are kept for the next machines of a cluster that is being deleted.
func (h *Hosts) ReleaseKept(ctx context.Context, namespace, cluster string) error {
	list := &bmov1alpha1.BareMetalHostList{}
	if err := h.Client.List(ctx, list, client.InNamespace(namespace), client.HasLabels{infrav1.NodeReuseLabel}); err != nil {
		return fmt.Errorf("listing BareMetalHosts that are kept for reuse: %w", err)
	}
	for i := range list.Items {
		host := &list.Items[i]
		if cluster == "" || keptFor(host) != cluster {
			continue
		}
		before := host.DeepCopy()
		host.Spec.ConsumerRef = nil
		delete(host.Labels, infrav1.NodeReuseLabel)
		if err := h.patch(ctx, host, before); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func pausedByUs(host *bmov1alpha1.BareMetalHost) bool {
	return host.Annotations[bmov1alpha1.PausedAnnotation] == infrav1.HostPausedByProvider
}
