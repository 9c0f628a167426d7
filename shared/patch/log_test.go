// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"slices"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/status"
)

func TestConditionLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var lines []string
	log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
		Name: "machine", Namespace: "default", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: "workers", UID: "1", Controller: new(true)}},
	}}
	c := (&requests{}).client(t, machine)
	waits := func(reason, message string) {
		obj := stored(t, c)
		p := patch.From(obj)
		status.False(obj, "HostReady", reason, message)
		g.Expect(p.Apply(ctrl.LoggerInto(t.Context(), log), c, obj)).To(Succeed())
	}
	said := func() []string { defer func() { lines = nil }(); return slices.Clone(lines) }

	waits("WaitingForHost", "no host of rack-a is free")
	g.Expect(said()).To(ConsistOf(SatisfyAll(
		ContainSubstring(`"object"={"name"="machine" "namespace"="default"}`), ContainSubstring(`"owner"="MachineSet/workers"`),
		ContainSubstring(`"Cluster"={"name"="demo" "namespace"="default"}`), ContainSubstring(`"condition"="HostReady" "from"="" "status"="False"`),
		ContainSubstring(`"reason"="WaitingForHost" "message"="no host of rack-a is free"`))))
	waits("WaitingForHost", "no host of rack-a is free")
	g.Expect(said()).To(BeEmpty())
	waits("WaitingForHost", "no host of rack-b is free")
	g.Expect(said()).To(ConsistOf(ContainSubstring(`"from"="False" "status"="False" "reason"="WaitingForHost" "message"="no host of rack-b is free"`)))
}
