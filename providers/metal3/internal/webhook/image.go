// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// validateDeploy requires an image, a custom deploy procedure, or both.
func validateDeploy(spec infrav1.Metal3MachineSpec, path *field.Path) field.ErrorList {
	if spec.CustomDeploy.Method != "" {
		return nil
	}
	if !spec.Image.IsDefined() {
		return field.ErrorList{field.Required(path.Child("image"),
			"must name the image that hosts boot, unless customDeploy.method is set")}
	}
	return validateImage(spec.Image, path.Child("image"))
}

// validateImage validates an image.
func validateImage(image infrav1.Image, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case image.URL == "":
		errs = append(errs, field.Required(path.Child("url"), "must be the URL of the image"))
	case !isURL(image.URL):
		errs = append(errs, field.Invalid(path.Child("url"), image.URL,
			"must be a URL, such as https://images.example.com/node.qcow2 or oci://registry.example.com/node:v1"))
	}
	if ptr.Deref(image.DiskFormat, "") == infrav1.DiskFormatLiveISO {
		return errs
	}
	return append(errs, validateChecksum(image, path.Child("checksum"))...)
}

// validateChecksum requires a checksum. Images in an OCI registry are verified by their digest.
func validateChecksum(image infrav1.Image, path *field.Path) field.ErrorList {
	switch {
	case image.Checksum == "" && !hasScheme(image.URL, infrav1.OCIScheme):
		return field.ErrorList{field.Required(path,
			"must be the checksum of the image, or the URL of a file with it; only live ISOs and images in an OCI registry need none")}
	case isHTTP(image.Checksum) && !isURL(image.Checksum):
		return field.ErrorList{field.Invalid(path, image.Checksum, "must be a checksum or a valid URL")}
	}
	return nil
}

// isPlainHTTP reports whether the checksum of an image is fetched without encryption and can be forged in transit.
func isPlainHTTP(image infrav1.Image) bool {
	return hasScheme(image.Checksum, "http")
}

func isHTTP(s string) bool {
	return hasScheme(s, "http") || hasScheme(s, "https")
}

func hasScheme(s, scheme string) bool {
	prefix := scheme + "://"
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// isURL reports whether s is an absolute URL.
func isURL(s string) bool {
	parsed, err := url.Parse(s)
	return err == nil && parsed.Scheme != "" && (parsed.Host != "" || parsed.Path != "")
}
