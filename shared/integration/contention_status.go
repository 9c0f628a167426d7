// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AboutStatus runs scenarios for a field of an object's status: writes conflict, and the API server does not keep the field. The manager
// must write nothing else to the object. In the first scenario, the pauses between the writes must grow. In the second, the manager must
// stop writing until the object changes. The field must exist afterwards.
func (q *Contention) AboutStatus(o client.Object, field string) {
	q.T.Helper()
	value := q.waitForStatus(o, field)
	q.T.Log("writes of the status lose")
	q.Forget()
	q.Conflict(o)
	q.removeStatus(o, field)
	q.WaitForBackoff(o)
	q.Conflict()
	q.waitForStatus(o, field)

	q.T.Log("a policy strips what is written to the status")
	keep := q.stripStatus(o, field, value)
	q.Forget()
	q.removeStatus(o, field)
	q.waitForQuiet(o)
	keep()
	q.G.Expect(q.Client.Patch(q.T.Context(), q.unstructured(o), touching(time.Now()))).To(gomega.Succeed())
	q.waitForStatus(o, field)
}

// waitForQuiet waits until the last write of an object is a long pause ago, and fails if there are many before.
func (q *Contention) waitForQuiet(o client.Object) {
	q.T.Helper()
	q.G.Eventually(func(g gomega.Gomega) {
		sent := q.of(q.path(o))
		if len(sent) > mostWrites {
			gomega.StopTrying(fmt.Sprintf("the writes of %s do not end: %v", q.path(o), pauses(sent))).Now()
		}
		g.Expect(sent).NotTo(gomega.BeEmpty())
		g.Expect(time.Since(sent[len(sent)-1])).To(gomega.BeNumerically(">=", longPause), "%v", pauses(sent))
	}).Should(gomega.Succeed())
}

// waitForStatus waits until the status has the field, and returns its value.
func (q *Contention) waitForStatus(o client.Object, field string) (value any) {
	q.T.Helper()
	q.G.Eventually(func(g gomega.Gomega) {
		is := q.unstructured(o)
		g.Expect(q.Client.Get(q.T.Context(), client.ObjectKeyFromObject(is), is)).To(gomega.Succeed())
		var has bool
		value, has, _ = unstructured.NestedFieldNoCopy(is.Object, "status", field)
		g.Expect(has).To(gomega.BeTrue(), "%s %s has the field %s in its status", is.GetKind(), is.GetName(), field)
	}).Should(gomega.Succeed())
	return value
}

func (q *Contention) removeStatus(o client.Object, field string) {
	q.T.Helper()
	body := client.RawPatch(types.MergePatchType, []byte(`{"status":{"`+field+`":null}}`))
	q.G.Expect(q.Client.Status().Patch(q.T.Context(), q.unstructured(o), body)).To(gomega.Succeed())
}
