// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	netattv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// refusal is why a virtual machine cannot be created from its spec. The message names the field and the fix.
type refusal struct {
	reason, message string
	// again is when to check again; 0 if an event triggers it.
	again time.Duration
}

// recheckInterval is how often a machine checks an image, network or key pair that it waits for. These have no watch, because
// machines may reference any namespace.
const recheckInterval = 10 * time.Second

func (r *refusal) Error() string { return r.message }

func refuse(reason, format string, args ...any) error {
	return &refusal{reason: reason, message: fmt.Sprintf(format, args...)}
}

// refuseForNow returns a refusal that ends once an image, network or key pair is usable.
func refuseForNow(reason, format string, args ...any) error {
	return &refusal{reason: reason, message: fmt.Sprintf(format, args...), again: recheckInterval}
}

// resolve resolves the spec's references on Harvester, and waits for missing objects.
func (r *Reconciler) resolve(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.vm != nil {
		return reconcile.Proceed, nil
	}
	return r.holdIfRefused(s, s.lookUp(ctx))
}

// holdIfRefused holds the machine if err is a refusal.
func (r *Reconciler) holdIfRefused(s *scope, err error) (reconcile.Progress, error) {
	var why *refusal
	if errors.As(err, &why) {
		r.hold(s, distribution.Refusal{Reason: why.reason, Message: why.message})
		return reconcile.Retry(why.again), nil
	}
	return reconcile.Proceed, err
}

func (s *scope) lookUp(ctx context.Context) error {
	for _, look := range []func(context.Context) error{s.lookUpVolumes, s.lookUpNetworks, s.lookUpKeyPair} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *scope) lookUpVolumes(ctx context.Context) error {
	s.wanted.Volumes = nil
	for i := range s.infra.Spec.Volumes {
		field, spec := fmt.Sprintf("spec.volumes[%d]", i), &s.infra.Spec.Volumes[i]
		volume := virtualmachine.Volume{AccessMode: spec.AccessMode, BootOrder: spec.BootOrder}
		var err error
		if spec.VolumeType == infrav1.VolumeTypeImage {
			err = s.fromImage(ctx, field, spec, &volume)
		} else {
			err = s.ofStorageClass(ctx, field, spec, &volume)
		}
		if err != nil {
			return err
		}
		s.wanted.Volumes = append(s.wanted.Volumes, volume)
	}
	if len(s.wanted.Volumes) == 0 {
		return refuse(infrav1.MachineSpecInvalidReason, "spec.volumes is empty: name at least the image to boot from in the template, and delete the Machine")
	}
	return nil
}

func (s *scope) fromImage(ctx context.Context, field string, spec *infrav1.Volume, volume *virtualmachine.Volume) error {
	image, err := s.image(ctx, field+".imageName", spec.ImageName)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(image)
	imported := corev1.ConditionUnknown
	for _, condition := range image.Status.Conditions {
		if condition.Type != harvesterhciv1.ImageImported {
			continue
		}
		if imported = condition.Status; imported == corev1.ConditionFalse {
			return refuseForNow(infrav1.ImageNotReadyReason, "%s.imageName: VirtualMachineImage %s cannot be imported: %s: import it again", field, key, condition.Message)
		}
	}
	size := max(image.Status.VirtualSize, image.Status.Size)
	switch {
	case imported != corev1.ConditionTrue, image.Status.StorageClassName == "", spec.VolumeSize == nil && size == 0:
		return refuseForNow(infrav1.ImageNotReadyReason, "%s.imageName: waiting for VirtualMachineImage %s to be imported (%d%%)", field, key, image.Status.Progress)
	case spec.VolumeSize == nil:
		volume.Size = *resource.NewQuantity(size, resource.BinarySI)
	default:
		volume.Size = *spec.VolumeSize
	}
	volume.StorageClass, volume.Image = image.Status.StorageClassName, key.String()
	return nil
}

// image finds an image by its name, or else by its display name, which need not be unique.
func (s *scope) image(ctx context.Context, field, reference string) (*harvesterhciv1.VirtualMachineImage, error) {
	key, err := s.keyOf(field, reference)
	if err != nil {
		return nil, err
	}
	images := &harvesterhciv1.VirtualMachineImageList{}
	if err := s.conn.List(ctx, images, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("listing images of Harvester: %w", err)
	}
	var called []*harvesterhciv1.VirtualMachineImage
	var names []string
	for i := range images.Items {
		image := &images.Items[i]
		if image.Name == key.Name {
			return image, nil
		}
		if image.Spec.DisplayName == key.Name {
			called, names = append(called, image), append(names, image.Name)
		}
	}
	switch len(called) {
	case 0:
		return nil, refuseForNow(infrav1.ImageNotFoundReason, "%s: no VirtualMachineImage of namespace %s has the name or display name %s: "+
			"create it, or name another in the template and delete the Machine", field, key.Namespace, key.Name)
	case 1:
		return called[0], nil
	}
	slices.Sort(names)
	return nil, refuseForNow(infrav1.ImageAmbiguousReason, "%s: several VirtualMachineImages of namespace %s have the display name %s: "+
		"name one of them by its own name (%s), or rename the others", field, key.Namespace, key.Name, strings.Join(names, ", "))
}

// ofStorageClass describes an empty volume. The storage class of the failure domain takes precedence.
func (s *scope) ofStorageClass(ctx context.Context, field string, spec *infrav1.Volume, volume *virtualmachine.Volume) error {
	field, name := field+".storageClass", spec.StorageClass
	if declared := s.declaredDomain(); declared.StorageClass != "" {
		field, name = "storageClass of failure domain "+declared.Name, declared.StorageClass
	}
	if spec.VolumeSize == nil {
		return refuse(infrav1.MachineSpecInvalidReason, "%s: an empty volume must have a volumeSize: set it in the template, and delete the Machine", field)
	}
	if err := s.conn.Get(ctx, client.ObjectKey{Name: name}, &storagev1.StorageClass{}); apierrors.IsNotFound(err) {
		return refuse(infrav1.StorageClassNotFoundReason, "%s: StorageClass %q does not exist in Harvester: create it, or name another and delete the Machine", field, name)
	} else if err != nil {
		return fmt.Errorf("reading StorageClass %s of Harvester: %w", name, err)
	}
	volume.StorageClass, volume.Size = name, *spec.VolumeSize
	return nil
}

func (s *scope) lookUpNetworks(ctx context.Context) error {
	field, networks := "spec.networks", s.infra.Spec.Networks
	if declared := s.declaredDomain(); len(declared.Networks) > 0 {
		field, networks = "networks of failure domain "+declared.Name, declared.Networks
	}
	s.wanted.Networks = nil
	for _, reference := range networks {
		key, err := s.keyOf(field, reference)
		if err != nil {
			return err
		}
		if err := s.conn.Get(ctx, key, &netattv1.NetworkAttachmentDefinition{}); apierrors.IsNotFound(err) {
			return refuseForNow(infrav1.NetworkNotFoundReason, "%s: network %s (NetworkAttachmentDefinition) does not exist in Harvester: "+
				"create it, or name another and delete the Machine", field, key)
		} else if err != nil {
			return fmt.Errorf("reading network %s of Harvester: %w", key, err)
		}
		s.wanted.Networks = append(s.wanted.Networks, key.String())
	}
	if len(s.wanted.Networks) == 0 {
		return refuse(infrav1.NetworkMissingReason, "spec.networks is empty, and the failure domain has no networks: "+
			"name a network in the template and delete the Machine, or give the failure domain one")
	}
	return nil
}

func (s *scope) lookUpKeyPair(ctx context.Context) error {
	const field = "spec.sshKeyPair"
	if s.infra.Spec.SSHKeyPair == "" {
		return nil
	}
	key, err := s.keyOf(field, s.infra.Spec.SSHKeyPair)
	if err != nil {
		return err
	}
	pair := &harvesterhciv1.KeyPair{}
	if err := s.conn.Get(ctx, key, pair); apierrors.IsNotFound(err) {
		return refuseForNow(infrav1.KeyPairNotFoundReason, "%s: KeyPair %s does not exist in Harvester: create it, or name another in the template and delete the Machine", field, key)
	} else if err != nil {
		return fmt.Errorf("reading KeyPair %s of Harvester: %w", key, err)
	}
	s.wanted.KeyPair, s.wanted.PublicKey = key.String(), pair.Spec.PublicKey
	return nil
}

// keyOf parses a reference: namespace/name, or a name in the target namespace.
func (s *scope) keyOf(field, reference string) (client.ObjectKey, error) {
	namespace, name, found := strings.Cut(reference, "/")
	if !found {
		namespace, name = s.infraCluster.Spec.TargetNamespace, reference
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return client.ObjectKey{}, refuse(infrav1.MachineSpecInvalidReason,
			"%s: %q is neither namespace/name nor a name: correct it in the template, and delete the Machine", field, reference)
	}
	return client.ObjectKey{Namespace: namespace, Name: name}, nil
}
