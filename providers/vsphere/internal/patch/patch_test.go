// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/patch"
)

// requests notes the patches that are sent. What an API server makes of them is shown by the integration tests.
type requests struct {
	spec, status []map[string]any
	fail         error
}

func (r *requests) client(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	note := func(list *[]map[string]any, obj client.Object, p client.Patch) error {
		data, err := p.Data(obj)
		if err != nil {
			return err
		}
		sent := map[string]any{}
		*list = append(*list, sent)
		return json.Unmarshal(data, &sent)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&infrav1.VSphereVM{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				return errors.Join(r.fail, note(&r.spec, obj, p), c.Patch(ctx, obj, p, opts...))
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				return errors.Join(note(&r.status, obj, p), c.SubResource(sub).Patch(ctx, obj, p, opts...))
			},
		}).Build()
}

func stored(t *testing.T, c client.Client) *infrav1.VSphereVM {
	t.Helper()
	vm := &infrav1.VSphereVM{}
	NewWithT(t).Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "vm"}, vm)).To(Succeed())
	return vm
}

func newVM() *infrav1.VSphereVM {
	return &infrav1.VSphereVM{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "vm", Finalizers: []string{"example.com/other"}}}
}

func TestApplySendsWhatHasChanged(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change       func(*infrav1.VSphereVM)
		spec, status int
	}{
		"nothing":        {func(*infrav1.VSphereVM) {}, 0, 0},
		"there and back": {func(vm *infrav1.VSphereVM) { vm.Labels = map[string]string{} }, 0, 0},
		"metadata":       {func(vm *infrav1.VSphereVM) { vm.Finalizers = append(vm.Finalizers, infrav1.VMFinalizer) }, 1, 0},
		"spec":           {func(vm *infrav1.VSphereVM) { vm.Spec.BiosUUID = "42" }, 1, 0},
		"status":         {func(vm *infrav1.VSphereVM) { vm.Status.TaskRef = "task-1" }, 0, 1},
		"all of it": {func(vm *infrav1.VSphereVM) {
			vm.Annotations, vm.Spec.BiosUUID, vm.Status.Ready = map[string]string{"a": "b"}, "42", ptr.To(true)
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			sent := &requests{}
			c := sent.client(t, newVM())
			vm := stored(t, c)
			p := patch.From(vm)
			tc.change(vm)
			g.Expect(p.Apply(t.Context(), c, vm)).To(Succeed())
			g.Expect(sent.spec).To(HaveLen(tc.spec))
			g.Expect(sent.status).To(HaveLen(tc.status))
			g.Expect(stored(t, c).Spec).To(Equal(vm.Spec))
			g.Expect(stored(t, c).Status).To(Equal(vm.Status))
			g.Expect(stored(t, c).Finalizers).To(Equal(vm.Finalizers))
			g.Expect(vm.ResourceVersion).To(Equal(stored(t, c).ResourceVersion), "it is known which version was written last")
		})
	}
}

func TestApplyGuardsListsThatOthersWrite(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sent := &requests{}
	c := sent.client(t, newVM())
	vm := stored(t, c)
	read := vm.ResourceVersion
	p := patch.From(vm)
	vm.Finalizers, vm.Status.TaskRef = []string{infrav1.VMFinalizer}, "task-1"
	g.Expect(p.Apply(t.Context(), c, vm)).To(Succeed())
	g.Expect(sent.spec[0]["metadata"]).To(HaveKeyWithValue("resourceVersion", read))
	g.Expect(sent.status[0]).NotTo(HaveKey("metadata"), "the status is one controller's own")
}

func TestApplyAgainSendsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sent := &requests{}
	c := sent.client(t, newVM())
	vm := stored(t, c)
	p := patch.From(vm)
	vm.Spec.BiosUUID, vm.Status.TaskRef = "42", "task-1"
	g.Expect(p.Apply(t.Context(), c, vm)).To(Succeed())
	g.Expect(p.Apply(t.Context(), c, vm)).To(Succeed())
	g.Expect(sent.spec).To(HaveLen(1))
	g.Expect(sent.status).To(HaveLen(1))
	vm.Status.TaskRef, vm.Status.Host = "", "host"
	g.Expect(p.Apply(t.Context(), c, vm)).To(Succeed())
	g.Expect(sent.status[1]).To(Equal(map[string]any{"status": map[string]any{"taskRef": nil, "host": "host"}}))
	g.Expect(stored(t, c).Status.TaskRef).To(BeEmpty())
}

// The status must not say what the spec was to say: it goes second, and not at all when the first was refused.
func TestApplyStopsAtTheFirstRefusal(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	refusal := errors.New("refused")
	sent := &requests{fail: refusal}
	c := sent.client(t, newVM())
	vm := stored(t, c)
	p := patch.From(vm)
	vm.Spec.BiosUUID, vm.Status.TaskRef = "42", "task-1"
	g.Expect(p.Apply(t.Context(), c, vm)).To(MatchError(refusal))
	g.Expect(sent.status).To(BeEmpty())
}
