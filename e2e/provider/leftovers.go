// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Leftovers returns a fault for each object of the listed kinds in a namespace, and for each Secret that stays does not exempt.
func Leftovers(ctx context.Context, c client.Client, namespace string, stays func(*corev1.Secret) bool, lists ...client.ObjectList) ([]Fault, error) {
	var faults []Fault
	for _, list := range append(lists, &corev1.SecretList{}) {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			if secret, ok := item.(*corev1.Secret); ok && stays(secret) {
				return nil
			}
			object := item.(client.Object)
			faults = append(faults, Fault{fmt.Sprintf("%T %s", object, object.GetName()), fmt.Sprintf("still exists, with finalizers %v", object.GetFinalizers())})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return faults, nil
}
