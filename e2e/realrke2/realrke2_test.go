//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package realrke2

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const (
	// timeout is longer than a move, in which the control plane waits for intervals of up to a minute.
	timeout = 5 * time.Minute
	// replicas is the number of machines of the control plane, quorum the majority of their etcd members.
	replicas, quorum = 3, 2
)

// fixture is a test in an environment.
type fixture struct {
	*testing.T
	Gomega
	*environment
}

// TestTheRealRKE2 is a sequence: each part begins where the previous one ended.
func TestTheRealRKE2(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "real-rke2-") //nolint:usetesting // The logs must survive a failure.
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	e, ctx, err := start(t.Context(), dir, os.Stderr)
	t.Cleanup(func() {
		e.close()
		if t.Failed() {
			t.Log("logs are in " + dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, part := range []struct {
		name string
		run  func(*fixture, context.Context)
	}{
		{"accepts upstream's template", (*fixture).acceptsUpstream},
		{"creates one machine in each zone", (*fixture).create},
		{"moves one machine out of an evicted zone", (*fixture).evicts},
		{"moves one machine back", (*fixture).returns},
		{"deletes the cluster", (*fixture).deletes},
	} {
		if !t.Run(part.name, func(t *testing.T) {
			began := time.Now()
			part.run(&fixture{T: t, Gomega: NewWithT(t), environment: e}, ctx)
			t.Logf("%s: %.0f s", part.name, time.Since(began).Seconds())
		}) {
			return
		}
	}
}

// until waits until check reports nothing missing.
func (w *fixture) until(ctx context.Context, check func(context.Context) (missing string, err error)) {
	w.Helper()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	w.Expect(provider.Until(ctx, check)).To(Succeed())
}

func (w *fixture) acceptsUpstream(ctx context.Context) {
	objects, err := w.fill(filepath.Join(w.release, "examples", "templates", "vmware", "cluster-template.yaml"), upstreamVariables())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(objects).NotTo(BeEmpty())
	policy := []string{"spec", "template", "spec", "storagePolicyName"}
	for _, object := range objects {
		// The template gives an empty name, which the API rejects.
		if text, found, _ := unstructured.NestedString(object.Object, policy...); found && text == "" {
			unstructured.RemoveNestedField(object.Object, policy...)
		}
		w.Expect(w.client.Create(ctx, object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))).
			To(Succeed(), "%s %s", object.GetKind(), object.GetName())
	}
}

func (w *fixture) create(ctx context.Context) {
	objects, err := w.fill(filepath.Join(w.root, "templates", "vsphere", "cluster-template-zones-rke2.yaml"), nil)
	w.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		w.Expect(w.client.Create(ctx, object)).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
	}
	w.until(ctx, w.in(map[string]int{"zone-a": 1, "zone-b": 1, "zone-c": 1}))
}

// in returns a check that the control plane is complete and ready, with these numbers of machines in zones. It fails if too many machines
// exist, or if etcd has lost its majority since it had one.
func (w *fixture) in(want map[string]int) func(context.Context) (string, error) {
	formed := false
	return func(ctx context.Context) (string, error) {
		list := &clusterv1.MachineList{}
		if err := w.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return "", err
		}
		if len(list.Items) > replicas+1 {
			return "", &provider.Violation{Rule: fmt.Sprintf("%d machines at the same time", len(list.Items))}
		}
		members, err := w.workload.Members(ctx, client.ObjectKey{Namespace: namespace, Name: name})
		if err != nil {
			return "", err
		}
		healthy := 0
		for _, member := range members {
			if member.Healthy {
				healthy++
			}
		}
		formed = formed || healthy >= quorum
		if formed && healthy < quorum {
			return "", &provider.Violation{Rule: fmt.Sprintf("%d healthy etcd members of %v", healthy, members)}
		}
		return placed(list.Items, want), nil
	}
}

// placed returns what is missing until the machines are complete, ready and where they should be.
func placed(list []clusterv1.Machine, want map[string]int) string {
	is, waits := map[string]int{}, ""
	for i := range list {
		is[list[i].Spec.FailureDomain]++
		if ready := conditions.Get(&list[i], clusterv1.MachineReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
			waits = fmt.Sprintf("Machine %s is not ready: %+v", list[i].Name, ready)
		}
	}
	if !maps.Equal(is, want) {
		return fmt.Sprintf("machines are in %v, not %v; %s", is, want, waits)
	}
	return waits
}

func (w *fixture) evicts(ctx context.Context) {
	w.intend(ctx, faultlinev1.FailureDomainIntent{Name: "zone-c", State: faultlinev1.DomainEvicting})
	first, second := w.in(map[string]int{"zone-a": 2, "zone-b": 1}), w.in(map[string]int{"zone-a": 1, "zone-b": 2})
	w.until(ctx, func(ctx context.Context) (string, error) {
		missing, err := first(ctx)
		if missing == "" || err != nil {
			return missing, err
		}
		return second(ctx)
	})
}

func (w *fixture) returns(ctx context.Context) {
	w.intend(ctx)
	w.until(ctx, w.in(map[string]int{"zone-a": 1, "zone-b": 1, "zone-c": 1}))
}

// intend sets the intents of the cluster, and that moves follow soon.
func (w *fixture) intend(ctx context.Context, intents ...faultlinev1.FailureDomainIntent) {
	cluster := &infrav1.VSphereCluster{}
	w.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster)).To(Succeed())
	before := cluster.DeepCopy()
	cluster.Spec.Distribution.FailureDomains = intents
	cluster.Spec.Distribution.ControlPlane.StabilizationSeconds = new(int32(5))
	w.Expect(w.client.Patch(ctx, cluster, client.MergeFrom(before))).To(Succeed())
}

func (w *fixture) deletes(ctx context.Context) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.Expect(w.client.Delete(ctx, cluster)).To(Succeed())
	w.until(ctx, func(ctx context.Context) (string, error) {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "the Cluster exists", err
	})
	left, err := w.vcenter.Leftovers(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(left).To(BeEmpty())
}
