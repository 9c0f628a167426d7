// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateReference requires namespace/name, or the name of an object in the target namespace on Harvester.
func validateReference(reference string, path *field.Path) field.ErrorList {
	namespace, name, found := strings.Cut(reference, "/")
	if !found {
		namespace, name = "default", reference
	}
	if len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, reference, "must be namespace/name, or the name of an object in the target namespace")}
}

// validateImageReference requires namespace/name or a name. The name can be a display name, which can be almost any text.
func validateImageReference(reference string, path *field.Path) field.ErrorList {
	namespace, name, found := strings.Cut(reference, "/")
	if !found || len(validation.IsDNS1123Label(namespace)) == 0 && name != "" {
		return nil
	}
	return field.ErrorList{field.Invalid(path, reference, "must be namespace/name, or the name of an image in the target namespace")}
}

// isSubnetMask reports whether a text is a contiguous, non-zero subnet mask.
func isSubnetMask(mask string) bool {
	ip := net.ParseIP(mask)
	if four := ip.To4(); four != nil {
		ip = four
	}
	ones, bits := net.IPMask(ip).Size()
	return bits > 0 && ones > 0
}

// isSearchDomain reports whether a text is a valid search domain of a resolver. It may end with a dot.
func isSearchDomain(domain string) bool {
	return len(validation.IsDNS1123Subdomain(strings.ToLower(strings.TrimSuffix(domain, ".")))) == 0
}
