// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Mark is the owner of a Machine's delete-machine annotation, from the view of one of Faultline's controllers.
type Mark string

const (
	// Unmarked is used for a Machine without the annotation delete-machine.
	Unmarked Mark = ""
	// Ours is used for a Machine that the controller has marked. It also applies if another client has removed marked-for-move,
	// because only the controller removes the rest.
	Ours Mark = "ours"
	// Users is used for a Machine that another client has annotated. The controller never changes it.
	Users Mark = "user's"
	// Overwritten is used for a Machine that the controller has marked and that another client has annotated since:
	// delete-machine belongs to that client.
	Overwritten Mark = "overwritten"
	// TakenOff is used for a Machine that the controller has marked and from which another client has removed delete-machine.
	TakenOff Mark = "taken off"
)

// MarkOf returns the owner of a Machine's delete-machine annotation. The annotation is the controller's if the first word of its
// value is word; note is the rest of the value.
func MarkOf(machine *clusterv1.Machine, word string) (whose Mark, note string) {
	value, asked := machine.Annotations[clusterv1.DeleteMachineAnnotation]
	_, marked := faultlinev1.Lookup(machine.Annotations, faultlinev1.MarkedForMoveAnnotation)
	first, note, _ := strings.Cut(value, " ")
	switch {
	case asked && first == word:
		return Ours, note
	case asked && marked:
		return Overwritten, ""
	case asked:
		return Users, ""
	case marked:
		return TakenOff, ""
	}
	return Unmarked, ""
}

// Annotations returns the keys of the annotations that the controller must remove; none if it has set none.
func (m Mark) Annotations() []string {
	switch m {
	case Ours:
		return []string{faultlinev1.MarkedForMoveAnnotation, clusterv1.DeleteMachineAnnotation}
	case Overwritten, TakenOff:
		return []string{faultlinev1.MarkedForMoveAnnotation}
	}
	return nil
}

// Others reports whether another client wants the Machine deleted first.
func (m Mark) Others() bool { return m == Users || m == Overwritten }
