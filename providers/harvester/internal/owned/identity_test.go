// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package owned_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
)

// machine returns a machine created a number of seconds after another one; of is the recorded owner of its id.
func machine(name, of string, after int64) *infrav1.HarvesterMachine {
	m := &infrav1.HarvesterMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(after, 0))}}
	if of != "" {
		m.Annotations = map[string]string{infrav1.IDOfAnnotation: of}
	}
	return m
}

func TestIDOwner(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		noted, id, of string
		known         bool
	}{
		"its own":                 {noted: "ns/a", id: "1", known: true},
		"a copy":                  {noted: "ns/b", id: "1", of: "ns/b", known: true},
		"a copy without the id":   {noted: "ns/b", of: "ns/b", known: true},
		"none yet":                {known: true},
		"from an earlier release": {id: "1"},
	} {
		of, known := owned.IDOwner(machine("a", tc.noted, 0), tc.id)
		NewWithT(t).Expect(of).To(Equal(tc.of), name)
		NewWithT(t).Expect(known).To(Equal(tc.known), name)
	}
}

// Of two objects, exactly one precedes the other.
func TestPrecedes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		other    *infrav1.HarvesterMachine
		precedes bool
	}{
		"the other has noted that it is its own":   {machine("z", "ns/z", 9), true},
		"the other is a copy of a third":           {machine("z", "ns/x", 0), false},
		"neither has noted it, the other is older": {machine("z", "", 0), true},
		"neither has noted it, it is older":        {machine("z", "", 9), false},
		"neither has noted it, of one age":         {machine("z", "", 5), false},
		"itself":                                   {machine("m", "ns/m", 5), false},
	} {
		this := machine("m", "", 5)
		NewWithT(t).Expect(owned.Precedes(tc.other, this)).To(Equal(tc.precedes), name)
		if tc.other.Annotations == nil {
			NewWithT(t).Expect(owned.Precedes(this, tc.other)).NotTo(Equal(tc.precedes), name)
		}
	}
}
