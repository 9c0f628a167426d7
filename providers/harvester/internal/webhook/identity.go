// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
)

// validateIdentity rejects an id that was copied with another object's YAML. clusterctl move and a restored backup keep namespace
// and name, so the id still belongs to the object.
func validateIdentity(o client.Object, id string) field.ErrorList {
	if of, _ := owned.IDOwner(o, o.GetAnnotations()[id]); of != "" {
		return field.ErrorList{copied(id, of)}
	}
	return nil
}

func copied(id, of string) *field.Error {
	return field.Forbidden(field.NewPath("metadata", "annotations").Key(id),
		"must not be copied from "+of+": remove all annotations that begin with infrastructure.cluster.x-k8s.io/harvester-")
}

// validateNewIdentity also rejects another object's id if an earlier release did not record the id's owner.
func validateNewIdentity(ctx context.Context, reader client.Reader, o client.Object, id string, list client.ObjectList) (field.ErrorList, error) {
	value := o.GetAnnotations()[id]
	if _, known := owned.IDOwner(o, value); known {
		return nil, nil
	}
	if err := reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("looking for another object with the id %s: %w", value, err)
	}
	var errs field.ErrorList
	err := meta.EachListItem(list, func(item runtime.Object) error {
		other := item.(client.Object)
		if other.GetAnnotations()[id] == value && client.ObjectKeyFromObject(other) != client.ObjectKeyFromObject(o) {
			errs = field.ErrorList{copied(id, infrav1.Owner(other.GetNamespace(), other.GetName()))}
		}
		return nil
	})
	return errs, err
}

// validateTemplateIdentity rejects annotations that belong to a single object, because every object from the template would get them.
func validateTemplateIdentity(metadata clusterv1.ObjectMeta, ofOne []string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range ofOne {
		if _, has := metadata.Annotations[key]; has {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "template", "metadata", "annotations").Key(key),
				"must not be set in a template, because all objects created from it would share the value: remove it"))
		}
	}
	return errs
}
