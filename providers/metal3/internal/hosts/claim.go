// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// ErrHostChanged is returned for a host that has changed since it was chosen, usually because another machine has claimed it.
var ErrHostChanged = errors.New("host has changed since it was chosen")

// Hosts writes BareMetalHosts.
type Hosts struct {
	Client client.Client
	// Live reads objects that must not come from a cache.
	Live      client.Reader
	Inventory *Inventory
	// FastTrack leaves hosts powered on when they are released, unless their disks are not cleaned.
	FastTrack bool
	Clock     clock.PassiveClock

	refusals refusals
	repeats  patch.Repeats
}

// Claim holds the machine that claims a host, and the host's configuration.
type Claim struct {
	Machine metav1.Object
	Cluster string
	// Config is the configuration of the host, or nil while it is unknown.
	Config *Config
}

// Claim makes the machine the consumer of the host in a single request, which the API server rejects if the host has changed
// since it was read. In that case, or if the host is not free, Claim returns ErrHostChanged, and the inventory does not offer the
// host again until it has observed a newer version. Claim returns ErrRefused for a host that the machine should not retry soon. It returns
// the host and a patch.RemovedError if the API server has stored the consumer but not all labels and annotations.
func (h *Hosts) Claim(ctx context.Context, chosen Host, claim Claim) (*bmov1alpha1.BareMetalHost, error) {
	host, err := h.read(ctx, chosen)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if seen := Observe(host); err != nil || seen.Unavailability != "" || seen.Domain != chosen.Domain || seen.Reuse != chosen.Reuse {
		h.Inventory.Invalidate(chosen)
		return nil, ErrHostChanged
	}
	before := host.DeepCopy()
	setConsumer(host, claim)
	machine := types.NamespacedName{Namespace: claim.Machine.GetNamespace(), Name: claim.Machine.GetName()}
	err = h.patch(ctx, host, before)
	if _, sent := patch.Sent(err); (err == nil || sent) && BelongsTo(host, machine) {
		return host, err
	}
	if err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			h.Inventory.Invalidate(chosen)
			return nil, ErrHostChanged
		}
		return nil, h.recordRefusal(Observe(before), machine, err)
	}
	return nil, h.refuse(Observe(host), machine, errors.New("the API server does not store spec.consumerRef"))
}

// read returns the host from the cache, or from the API server if the inventory has a newer version: the inventory records this
// process's own writes first.
func (h *Hosts) read(ctx context.Context, chosen Host) (*bmov1alpha1.BareMetalHost, error) {
	host := &bmov1alpha1.BareMetalHost{}
	err := h.Client.Get(ctx, chosen.Key(), host)
	if err == nil && patch.Stale(host.ResourceVersion, chosen.Version, chosen.recordedAt) {
		err = h.Live.Get(ctx, chosen.Key(), host)
	}
	if err != nil {
		return host, fmt.Errorf("reading BareMetalHost %s: %w", chosen.Name, err)
	}
	return host, nil
}

// setConsumer writes all fields that record the consumer of the host. The machine does not become an owner: deleting it would
// delete the host.
func setConsumer(host *bmov1alpha1.BareMetalHost, claim Claim) {
	host.Spec.ConsumerRef = &corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: MachineKind, Namespace: claim.Machine.GetNamespace(), Name: claim.Machine.GetName(),
	}
	metav1.SetMetaDataLabel(&host.ObjectMeta, clusterv1.ClusterNameLabel, claim.Cluster)
	// Blocks clusterctl move until the host is paused.
	metav1.SetMetaDataAnnotation(&host.ObjectMeta, clusterctlv1.BlockMoveAnnotation, "true")
	delete(host.Labels, infrav1.NodeReuseLabel)
	faultlinev1.Rename(host)
	delete(host.Annotations, infrav1.MachineFailedAnnotation)
	host.OwnerReferences = withoutOwner(host.OwnerReferences, claim.Machine.GetName())
	if claim.Config != nil {
		claim.Config.apply(host)
	}
}

// Adopt converts a host that upstream or a former release has claimed to the form that this release writes. It removes the owner
// reference to the machine, because foreground deletion of the machine would delete the host first. It also blocks clusterctl
// move until the host is paused.
func (h *Hosts) Adopt(ctx context.Context, host *bmov1alpha1.BareMetalHost, machine string) error {
	others := withoutOwner(host.OwnerReferences, machine)
	moveUnblocked := MoveUnblocked(host)
	if len(others) == len(host.OwnerReferences) && !moveUnblocked {
		return nil
	}
	if err := h.unlabelSecret(ctx, host, machine); err != nil {
		return err
	}
	before := host.DeepCopy()
	host.OwnerReferences = others
	if moveUnblocked {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, clusterctlv1.BlockMoveAnnotation, "true")
	}
	return h.patch(ctx, host, before)
}

// unlabelSecret removes the cluster name label from the BMC Secret of a host that its machine owns. The provider that set the
// owner reference also set the label and never removes it: a later move of that cluster would take along the Secret of a host
// that another cluster uses by then.
func (h *Hosts) unlabelSecret(ctx context.Context, host *bmov1alpha1.BareMetalHost, machine string) error {
	if len(withoutOwner(host.OwnerReferences, machine)) == len(host.OwnerReferences) {
		return nil
	}
	return h.labelSecret(ctx, host, "")
}

// withoutOwner removes owner references to the machine. It compares names because the UID changes in a move.
func withoutOwner(refs []metav1.OwnerReference, machine string) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(refs), func(ref metav1.OwnerReference) bool {
		version, err := schema.ParseGroupVersion(ref.APIVersion)
		return err == nil && version.Group == infrav1.GroupVersion.Group && ref.Kind == MachineKind && ref.Name == machine
	})
}

// patch sends the changes and fails with a conflict if the host has been written since before was read. It returns a patch.RemovedError
// if the API server does not store labels and annotations, or another actor reverts them.
func (h *Hosts) patch(ctx context.Context, host, before *bmov1alpha1.BareMetalHost) error {
	return h.write(ctx, &h.repeats, host, before)
}

// patchOnce is patch for an annotation that the operator removes when it has acted on it.
func (h *Hosts) patchOnce(ctx context.Context, host, before *bmov1alpha1.BareMetalHost) error {
	return h.write(ctx, nil, host, before)
}

func (h *Hosts) write(ctx context.Context, repeats *patch.Repeats, host, before *bmov1alpha1.BareMetalHost) error {
	err := repeats.Write(ctx, h.Client, before, host)
	if _, sent := patch.Sent(err); err == nil || sent {
		h.Inventory.Upsert(Observe(host))
	}
	if err != nil {
		return fmt.Errorf("patching BareMetalHost %s: %w", before.Name, err)
	}
	return nil
}

// Find returns the host of the machine, or nil if it has none. If several hosts name the machine as their consumer, Find returns
// the preferred one, else the first.
func (h *Hosts) Find(ctx context.Context, machine types.NamespacedName, preferred string) (*bmov1alpha1.BareMetalHost, error) {
	names := h.Inventory.HeldBy(machine)
	if len(names) == 0 {
		return nil, nil
	}
	name := names[0]
	if slices.Contains(names, preferred) {
		name = preferred
	}
	host := &bmov1alpha1.BareMetalHost{}
	if err := h.Client.Get(ctx, types.NamespacedName{Namespace: machine.Namespace, Name: name}, host); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !BelongsTo(host, machine) {
		return h.getLive(ctx, machine, name) // The cache lags behind the claim.
	}
	return host, nil
}

// Recover is Find for a machine that has tried to claim the named host. It reads from the API server, because a claim made before
// a restart may not be in the cache yet.
func (h *Hosts) Recover(ctx context.Context, machine types.NamespacedName, name string) (*bmov1alpha1.BareMetalHost, error) {
	host, err := h.Find(ctx, machine, name)
	if err != nil || host != nil {
		return host, err
	}
	return h.getLive(ctx, machine, name)
}

func (h *Hosts) getLive(ctx context.Context, machine types.NamespacedName, name string) (*bmov1alpha1.BareMetalHost, error) {
	host, err := reconcile.Find(ctx, h.Live, types.NamespacedName{Namespace: machine.Namespace, Name: name}, &bmov1alpha1.BareMetalHost{})
	if err != nil || host == nil || !BelongsTo(host, machine) {
		return nil, err
	}
	h.Inventory.Upsert(Observe(host))
	return host, nil
}
