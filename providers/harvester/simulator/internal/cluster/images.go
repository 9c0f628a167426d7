// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

const (
	longhorn = "driver.longhorn.io"
	// DefaultStorageClass is Harvester's initial storage class.
	DefaultStorageClass = "harvester-longhorn"
	imageSize           = 1 << 31
	// imageAnnotation on a storage class names the image that its volumes are created from.
	imageAnnotation = "simulator.harvesterhci.io/image"
)

// images simulates the import of VirtualMachineImages.
type images struct {
	client client.Client
	clock  *controllers.Clock
	delay  time.Duration
	faults *controllers.FaultTable
}

// Reconcile creates the storage class of an image, which exists during the download, and sets the condition once the image is
// imported.
func (r *images) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	image := &harvesterhciv1.VirtualMachineImage{}
	if err := r.client.Get(ctx, req.NamespacedName, image); err != nil || imported(image) != "" {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if len(image.Status.Conditions) == 0 {
		return ctrl.Result{}, r.initialize(ctx, image)
	}
	if r.faults.Has(controllers.NoImports, image) {
		return ctrl.Result{}, nil
	}
	if wait := r.clock.Remaining(image.UID, "import", r.delay); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	image.Status.Progress, image.Status.Size, image.Status.VirtualSize = 100, imageSize, imageSize
	return ctrl.Result{}, r.update(ctx, image, harvesterhciv1.ImageImported)
}

// imported returns the status of condition Imported; "" while the import is in progress.
func imported(image *harvesterhciv1.VirtualMachineImage) corev1.ConditionStatus {
	for _, condition := range image.Status.Conditions {
		if condition.Type == harvesterhciv1.ImageImported {
			return condition.Status
		}
	}
	return ""
}

// initialize creates the storage class at the start of the import.
func (r *images) initialize(ctx context.Context, image *harvesterhciv1.VirtualMachineImage) error {
	class := storageClassFor(image)
	if err := r.client.Create(ctx, class); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating storage class: %w", err)
	}
	image.Status.StorageClassName = class.Name
	return r.update(ctx, image, "Initialized")
}

// update adds a condition to an image and writes its status.
func (r *images) update(ctx context.Context, image *harvesterhciv1.VirtualMachineImage, condition string) error {
	now := time.Now().UTC().Format(time.RFC3339)
	image.Status.Conditions = append(image.Status.Conditions, harvesterhciv1.Condition{
		Type: condition, Status: corev1.ConditionTrue, LastUpdateTime: now, LastTransitionTime: now,
	})
	if err := r.client.Status().Update(ctx, image); controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("updating image: %w", err)
	}
	return nil
}

// storageClassFor returns the storage class of volumes created from the image. With CDI that is any class.
func storageClassFor(image *harvesterhciv1.VirtualMachineImage) *storagev1.StorageClass {
	if image.Spec.Backend == harvesterhciv1.BackendCDI {
		return StorageClass(DefaultStorageClass)
	}
	class := StorageClass("lh-" + string(image.UID))
	class.Parameters = map[string]string{"backingImage": image.Namespace + "-" + image.Name}
	class.Annotations = map[string]string{imageAnnotation: image.Namespace + "/" + image.Name}
	return class
}

// StorageClass returns a Longhorn storage class.
func StorageClass(name string) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: longhorn, AllowVolumeExpansion: ptr.To(true),
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate), ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
	}
}
