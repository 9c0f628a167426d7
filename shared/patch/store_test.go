// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/faultline-io/faultline/shared/patch"
)

func TestStoreSpecStripped(t *testing.T) {
	t.Parallel()
	const kept, added, replaced, foreign = "example.com/kept", "example.com/added", "example.com/replaced", "example.com/foreign"
	for name, tc := range map[string]struct {
		policy  func(*clusterv1.Machine)
		removed []string
	}{
		"no policy":                              {func(*clusterv1.Machine) {}, nil},
		"an annotation that was written":         {func(machine *clusterv1.Machine) { delete(machine.Annotations, added) }, []string{"annotation " + added}},
		"one that is replaced by something else": {func(machine *clusterv1.Machine) { machine.Annotations[replaced] = "z" }, []string{"annotation " + replaced}},
		"a finalizer":                            {func(machine *clusterv1.Machine) { machine.Finalizers = nil }, []string{"finalizer " + clusterv1.MachineFinalizer}},
		"all that was written": {func(machine *clusterv1.Machine) { machine.Annotations, machine.Finalizers = nil, nil },
			[]string{"annotation " + added, "annotation " + replaced, "finalizer " + clusterv1.MachineFinalizer}},
		"what was not written":   {func(machine *clusterv1.Machine) { delete(machine.Annotations, kept) }, nil},
		"something that it adds": {func(machine *clusterv1.Machine) { machine.Annotations[foreign] = "" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
			machine := newMachine()
			machine.Annotations = map[string]string{kept: "a", replaced: "b"}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(machine).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
					if err := c.Patch(ctx, obj, p, opts...); err != nil {
						return err
					}
					tc.policy(obj.(*clusterv1.Machine))
					return nil
				},
			}).Build()
			machine = stored(t, c)
			p := patch.From(machine)
			metav1.SetMetaDataAnnotation(&machine.ObjectMeta, added, "x")
			metav1.SetMetaDataAnnotation(&machine.ObjectMeta, replaced, "y")
			machine.Finalizers = append(machine.Finalizers, clusterv1.MachineFinalizer)

			err := p.StoreSpec(t.Context(), c, machine)
			if tc.removed == nil {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(machine.Annotations).To(And(HaveKeyWithValue(added, "x"), HaveKeyWithValue(replaced, "y")))
				return
			}
			var removed *patch.RemovedError
			g.Expect(errors.As(err, &removed)).To(BeTrue(), "%v", err)
			g.Expect(removed.Removed).To(Equal(tc.removed))
			g.Expect(err).To(MatchError(And(ContainSubstring("Machine machine"), ContainSubstring("mutating admission policy or webhook"))))
			for _, what := range tc.removed {
				switch what {
				case "annotation " + added:
					g.Expect(machine.Annotations).NotTo(HaveKey(added))
				case "annotation " + replaced:
					g.Expect(machine.Annotations[replaced]).NotTo(Equal("y"))
				default:
					g.Expect(machine.Finalizers).NotTo(ContainElement(clusterv1.MachineFinalizer))
				}
			}
		})
	}
}
