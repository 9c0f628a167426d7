// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Two vCenters use the same task references: an object must be enqueued only by its own task.
func TestTasksOfTwoVCentersAreKeptApart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var flying tasks
	first, second := taskKey{"vcenter-1", "task-7"}, taskKey{"vcenter-2", "task-7"}
	flying.add(first, client.ObjectKey{Name: "a"})
	flying.add(second, client.ObjectKey{Name: "b"})

	owner, ok := flying.owner(first)
	g.Expect(ok).To(BeTrue())
	g.Expect(owner.Name).To(Equal("a"))

	flying.remove(second)
	_, ok = flying.owner(first)
	g.Expect(ok).To(BeTrue(), "the other vCenter's task is still in flight")
	_, ok = flying.owner(second)
	g.Expect(ok).To(BeFalse())
	g.Expect(flying.has(first)).To(BeTrue())
}
