// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// IDOwner returns whose an id is, namespace/name, as far as the object that has it says so: "" for its own. It is not known of an id that an earlier
// release has given.
func IDOwner(o client.Object, id string) (of string, known bool) {
	noted := o.GetAnnotations()[infrav1.IDOfAnnotation]
	switch {
	case id == "" && noted == "":
		return "", true
	case noted == "":
		return "", false
	case noted == ownerName(o):
		return "", true
	default:
		return noted, true
	}
}

// Precedes reports whether another object of the kind that has the same id is the one that the id belongs to, rather than o, of which that is not
// known: the other has noted so, or neither has and it is older.
func Precedes(other, o client.Object) bool {
	noted := other.GetAnnotations()[infrav1.IDOfAnnotation]
	switch {
	case ownerName(other) == ownerName(o):
		return false
	case noted != "":
		return noted == ownerName(other)
	}
	before, after := other.GetCreationTimestamp(), o.GetCreationTimestamp()
	if before.Equal(&after) {
		return ownerName(other) < ownerName(o)
	}
	return before.Before(&after)
}

func ownerName(o client.Object) string { return infrav1.Owner(o.GetNamespace(), o.GetName()) }

// MachineAnnotations are those that hold for one HarvesterMachine only. No copy may have them.
func MachineAnnotations() []string {
	return []string{
		infrav1.MachineIDAnnotation, infrav1.IDOfAnnotation, infrav1.VirtualMachineNameAnnotation, infrav1.VolumesAnnotation,
		infrav1.IPPoolsAnnotation, infrav1.IPHolderAnnotation,
	}
}

// ClusterAnnotations are those that hold for one HarvesterCluster only.
func ClusterAnnotations() []string {
	return []string{infrav1.ClusterIDAnnotation, infrav1.IDOfAnnotation}
}
