// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Mark is who wants a Machine deleted first, as one of our controllers sees it.
type Mark string

const (
	// Unmarked is the mark of a Machine without the annotation delete-machine.
	Unmarked Mark = ""
	// Ours is the mark of a Machine that the controller has marked, also after another has removed marked-for-move, as nobody else removes the rest.
	Ours Mark = "ours"
	// Users is the mark of a Machine that somebody else has annotated. It is never touched.
	Users Mark = "user's"
	// Overwritten is the mark of a Machine that the controller has marked and that somebody else has annotated since: delete-machine is theirs.
	Overwritten Mark = "overwritten"
	// TakenOff is the mark of a Machine that the controller has marked and that somebody has removed delete-machine from since.
	TakenOff Mark = "taken off"
)

// MarkOf returns whose the annotation delete-machine of a Machine is. The first word of its value is the controller's, if it is ours; note is the
// rest.
func MarkOf(machine *clusterv1.Machine, word string) (whose Mark, note string) {
	value, asked := machine.Annotations[clusterv1.DeleteMachineAnnotation]
	_, marked := machine.Annotations[faultlinev1.MarkedForMoveAnnotation]
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

// Annotations returns the keys of what the controller has to remove; none where it has set nothing.
func (m Mark) Annotations() []string {
	switch m {
	case Ours:
		return []string{faultlinev1.MarkedForMoveAnnotation, clusterv1.DeleteMachineAnnotation}
	case Overwritten, TakenOff:
		return []string{faultlinev1.MarkedForMoveAnnotation}
	}
	return nil
}

// Others reports whether somebody else wants the Machine deleted first.
func (m Mark) Others() bool { return m == Users || m == Overwritten }
