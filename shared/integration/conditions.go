// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"

	"github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Conditioned is an object with conditions.
type Conditioned interface {
	client.Object
	conditions.Getter
}

// Condition waits until a condition of the object has the reason, and returns its message.
func (u User) Condition(o Conditioned, conditionType, reason string) (message string) {
	u.T.Helper()
	u.G.Eventually(func(g gomega.Gomega) {
		g.Expect(u.Client.Get(u.T.Context(), client.ObjectKeyFromObject(o), o)).To(gomega.Succeed())
		g.Expect(conditions.GetReason(o, conditionType)).To(gomega.Equal(reason), "%s", Describe(o))
		message = conditions.GetMessage(o, conditionType)
	}).Should(gomega.Succeed())
	return message
}

// Describe formats the conditions of an object, one per line.
func Describe(o conditions.Getter) string {
	text := &strings.Builder{}
	for _, c := range o.GetConditions() {
		text.WriteString("\n" + c.Type + "=" + string(c.Status) + " " + c.Reason + ": " + c.Message)
	}
	return text.String()
}

// WaitForDeletion waits until the object no longer exists.
func (u User) WaitForDeletion(o client.Object) {
	u.T.Helper()
	u.G.Eventually(func() error {
		return u.Client.Get(u.T.Context(), client.ObjectKeyFromObject(o), o)
	}).Should(gomega.MatchError(gomega.ContainSubstring("not found")))
}
