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

// Typed is a Writer for a built-in Kubernetes kind. It is the Patch method of a client-go client, such as CoreV1().Nodes().Patch.
type Typed[T interface {
	client.Object
	DeepCopyInto(T)
}] func(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)

// Patch sends the patch and sets o to the response. It returns an error for an object of another kind.
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

// Scheme returns the scheme of Kubernetes' built-in kinds.
func (Typed[T]) Scheme() *runtime.Scheme { return clientgoscheme.Scheme }

// SetKeys applies changes to labels or annotations; a nil value removes a key. It changes the map in place, or returns a new one
// if it is nil.
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
