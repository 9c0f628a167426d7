// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "strings"

// Owner returns the value of OwnerAnnotation for an object of the management
// cluster.
func Owner(namespace, name string) string { return namespace + "/" + name }

// ParseOwner parses a value that Owner returned.
func ParseOwner(owner string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(owner, "/")
	return namespace, name, ok && namespace != "" && name != ""
}
