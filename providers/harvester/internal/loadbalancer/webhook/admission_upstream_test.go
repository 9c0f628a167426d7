// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// upstream is the folder of the cases of upstream's tests.
var upstream = filepath.Join("..", "..", "..", "..", "..", "..", "shared", "upstream", "harvester")

// verdict matches the expected result for the last document of a case file.
var verdict = regexp.MustCompile(`(?m)^# (create|update), (IPPool|LoadBalancer): (accept|refuse|either)$`)

// testUpstreamCases expects every case of upstream's validators to have the same result.
func testUpstreamCases(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(upstream, "admission", "*-up-*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	if len(files) == 0 {
		t.Run("skipped: ../shared/upstream does not exist", func(t *testing.T) { t.Skip() })
		return
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			match := verdict.FindSubmatch(data)
			g.Expect(match).To(HaveLen(4))
			testUpstreamCase(t, api, rulestest.Documents(t, data), string(match[1]), string(match[3]))
		})
	}
}

func testUpstreamCase(t *testing.T, api *rulestest.APIServer, all []*unstructured.Unstructured, verb, want string) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	last := len(all) - 1
	for _, other := range all[:last] {
		ensureNamespace(t, api, other.GetNamespace())
		g.Expect(api.Create(ctx, other)).To(Succeed())
		defer remove(t, api, other)
	}
	request := all[last]
	ensureNamespace(t, api, request.GetNamespace())
	var err error
	if verb == "update" {
		request.SetResourceVersion(all[last-1].GetResourceVersion())
		err = api.Update(ctx, request)
	} else if err = api.Create(ctx, request); err == nil {
		defer remove(t, api, request)
	}
	switch {
	case want == "accept", want == "either" && err == nil:
		g.Expect(err).NotTo(HaveOccurred())
		check, _, _ := unstructured.NestedMap(request.Object, "spec", "healthCheck")
		if request.GetKind() == "LoadBalancer" && want == "either" {
			g.Expect(check).NotTo(ContainElement(BeZero()), "a zero is not stored")
		}
	default:
		g.Expect(err).To(MatchError(ContainSubstring("is invalid")))
	}
}

// remove deletes an object, including a pool with held addresses.
func remove(t *testing.T, api *rulestest.APIServer, object *unstructured.Unstructured) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	if object.GetKind() == "IPPool" {
		pool := &lbv1.IPPool{}
		if err := api.Get(ctx, client.ObjectKeyFromObject(object), pool); err != nil {
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
			return
		}
		pool.Status = lbv1.IPPoolStatus{}
		g.Expect(api.Update(ctx, pool)).To(Succeed())
	}
	g.Expect(client.IgnoreNotFound(api.Delete(ctx, object))).To(Succeed())
}

func ensureNamespace(t *testing.T, api *rulestest.APIServer, name string) {
	t.Helper()
	if name == "" {
		return
	}
	err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	NewWithT(t).Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}

// testUpstreamConversion expects the load balancers of upstream's converter tests to have the same result.
func testUpstreamConversion(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(upstream, "conversion", "lb-*.yaml"))
	g, ctx := NewWithT(t), t.Context()
	g.Expect(err).NotTo(HaveOccurred())
	if len(files) == 0 {
		t.Run("skipped: ../shared/upstream does not exist", func(t *testing.T) { t.Skip() })
		return
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		all := rulestest.Documents(t, data)
		want, all := all[len(all)-1], all[:len(all)-1]
		for _, object := range all {
			g.Expect(api.Create(ctx, object)).To(Succeed())
		}
		got := want.DeepCopy()
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(want), got)).To(Succeed())
		g.Expect(got.Object["spec"]).To(Equal(want.Object["spec"]), file)
		g.Expect(got.Object["status"]).To(Equal(want.Object["status"]), file)
		for key, value := range want.GetAnnotations() {
			g.Expect(got.GetAnnotations()).To(HaveKeyWithValue(key, value))
		}
		for _, object := range all {
			remove(t, api, object)
		}
	}
}

// testSamples expects the samples of the proposal to be accepted verbatim, and when applied again. They have single values in place of
// lists. The test of the manager checks what it makes of them.
func testSamples(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	proposal := filepath.Join(upstream, "..", "..", "proposals", "harvester-cloud-provider.md")
	if _, err := os.Stat(proposal); errors.Is(err, fs.ErrNotExist) {
		t.Run("skipped: ../shared/proposals does not exist", func(t *testing.T) { t.Skip() })
		return
	}
	all := rulestest.Shown(t, proposal)
	g.Expect(all).To(HaveLen(4))
	for _, object := range all {
		what := object.GetKind() + " " + object.GetName()
		g.Expect(api.Create(ctx, object.DeepCopy())).To(Succeed(), what)
		defer remove(t, api, object)
		data, err := json.Marshal(object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(api.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, data))).To(Succeed(), what)
	}
	pool, lb := &lbv1.IPPool{}, &lbv1.LoadBalancer{}
	g.Expect(api.Get(ctx, client.ObjectKey{Name: "vlan-awareness-pool"}, pool)).To(Succeed())
	g.Expect(pool.Labels).To(And(HaveKeyWithValue(lbv1.VLANLabel, "1"), HaveKeyWithValue(lbv1.GlobalPoolLabel, "false")))
	g.Expect(api.Get(ctx, client.ObjectKey{Name: "vlan100-pool"}, pool)).To(Succeed())
	g.Expect(pool.Labels).To(HaveKeyWithValue(lbv1.VLANLabel, "100"), "set by the user, without a network")
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "lb1"}, lb)).To(Succeed())
	g.Expect(lb.Spec.BackendServerSelector).To(Equal(map[string][]string{"demo": {"demo"}}))
	g.Expect(lb.Spec.Listeners[0].Name).To(BeEmpty())
	g.Expect(lb.Status.BackendServers).To(Equal([]string{"192.168.100.100"}))
	g.Expect(lb.Status.AllocatedAddress.Mask).To(Equal("255.255.255.0"))
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "kubernetes-default-nginx-lb-3-3be238b0"}, lb)).To(Succeed())
	g.Expect(lb.Annotations).NotTo(HaveKey(lbv1.ProjectAnnotation), "the namespace is in no project here")
	g.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.NetworkAnnotation, "default/vlan100"))
}

// testDocumented expects the examples of the page to be accepted unchanged, without a warning.
func testDocumented(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	all := rulestest.Shown(t, filepath.Join("..", "..", "..", "..", "..", "docs", "harvester-load-balancer.md"))
	kinds := map[string]int{}
	for _, object := range all {
		if object.GroupVersionKind().Group != lbv1.GroupVersion.Group {
			continue // Services belong to a guest cluster
		}
		kinds[object.GetKind()]++
		what := object.GetKind() + " " + object.GetName()
		api.Warnings()
		g.Expect(api.Create(ctx, object, client.FieldValidation("Strict"))).To(Succeed(), what)
		g.Expect(api.Warnings()).To(BeEmpty(), what)
		defer remove(t, api, object)
	}
	g.Expect(kinds).To(And(HaveKey("IPPool"), HaveKey("LoadBalancer")))
}
