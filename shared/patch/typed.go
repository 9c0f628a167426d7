// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Typed is a Writer of one of Kubernetes' own kinds. It is the method Patch of a client of client-go, such as CoreV1().Nodes().
type Typed[T interface {
	client.Object
	DeepCopyInto(T)
}] func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)

// Patch sends the patch, and sets o to the answer. It returns an error for an object of another kind.
func (t Typed[T]) Patch(ctx context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	to, ok := o.(T)
	if !ok {
		return fmt.Errorf("patching %s: %T is not %T", o.GetName(), o, to)
	}
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	stored, err := t(ctx, o.GetName(), p.Type(), data, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	stored.DeepCopyInto(to)
	return nil
}

// Scheme returns the scheme of Kubernetes' own kinds.
func (Typed[T]) Scheme() *runtime.Scheme { return clientgoscheme.Scheme }

// SetKeys returns labels or annotations with the changes: nil removes a key. It changes the map in place, or returns a new one for nil.
func SetKeys(in map[string]string, changes map[string]*string) map[string]string {
	for key, value := range changes {
		switch {
		case value == nil:
			delete(in, key)
		case in == nil:
			in = map[string]string{key: *value}
		default:
			in[key] = *value
		}
	}
	return in
}
