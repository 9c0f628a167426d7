// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// validateVolumes validates each volume, and their boot order together.
func validateVolumes(volumes []infrav1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	order := map[int]bool{}
	for i, volume := range volumes {
		path := path.Index(i)
		errs = append(errs, validateVolume(volume, path)...)
		switch {
		case volume.BootOrder < 0:
			errs = append(errs, field.Invalid(path.Child("bootOrder"), volume.BootOrder, "must be at least 1; remove it to leave the order unset"))
		case volume.BootOrder > 0 && order[volume.BootOrder]:
			errs = append(errs, field.Duplicate(path.Child("bootOrder"), volume.BootOrder))
		}
		order[volume.BootOrder] = true
	}
	return errs
}

func validateVolume(volume infrav1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case volume.VolumeType == infrav1.VolumeTypeImage && volume.ImageName == "":
		errs = append(errs, field.Required(path.Child("imageName"), "must name the image of the volume"))
	case volume.VolumeType == infrav1.VolumeTypeImage:
		errs = append(errs, validateImageReference(volume.ImageName, path.Child("imageName"))...)
	case volume.StorageClass == "":
		errs = append(errs, field.Required(path.Child("storageClass"), "must name the storage class of the volume"))
	}
	size := volume.VolumeSize
	if size != nil && size.Sign() <= 0 {
		errs = append(errs, field.Invalid(path.Child("volumeSize"), size.String(), "must be a positive quantity, for example 40Gi"))
	}
	if size == nil && volume.VolumeType == infrav1.VolumeTypeStorageClass {
		errs = append(errs, field.Required(path.Child("volumeSize"), "must be set for a volume without an image, for example to 40Gi"))
	}
	return errs
}
