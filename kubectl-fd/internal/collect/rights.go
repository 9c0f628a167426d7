// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Right is a permission that a user has or lacks.
type Right struct {
	Verb      string
	Resource  schema.GroupResource
	Namespace string // "" means all
}

func (r Right) String() string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s %s in all namespaces", r.Verb, r.Resource)
	}
	return fmt.Sprintf("%s %s in namespace %s", r.Verb, r.Resource, r.Namespace)
}

// MissingRightsError lists the permissions that the user lacks.
type MissingRightsError []Right

func (e MissingRightsError) Error() string {
	words := make([]string, 0, len(e))
	for _, right := range e {
		words = append(words, right.String())
	}
	slices.Sort(words)
	const format = "missing %s: %s: ask for a role with %s, or use another user with --context or --as"
	if words = slices.Compact(words); len(words) > 1 {
		return fmt.Sprintf(format, "rights", strings.Join(words, "; "), "them")
	}
	return fmt.Sprintf(format, "right", words[0], "it")
}

// Refused is Denied for the resource named in the API server's response.
func Refused(err error, verb, namespace string) error {
	status := &apierrors.StatusError{}
	if !lacksRight(err, verb) || !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return err
	}
	details := status.ErrStatus.Details
	return MissingRightsError{{Verb: verb, Resource: schema.GroupResource{Group: details.Group, Resource: details.Kind}, Namespace: namespace}}
}

// lacksRight reports whether the user lacks a permission. A rejection by an admission webhook or a quota is not a missing
// permission.
func lacksRight(err error, verb string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot "+verb+" resource")
}

// Denied converts an error about a missing permission to a MissingRightsError, and returns other errors unchanged.
func Denied(err error, mapper meta.RESTMapper, kind schema.GroupVersionKind, verb, namespace string) error {
	if !lacksRight(err, verb) {
		return err
	}
	resource := schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind)}
	if mapping, known := mapper.RESTMapping(kind.GroupKind(), kind.Version); known == nil {
		resource = mapping.Resource.GroupResource()
	}
	return MissingRightsError{{Verb: verb, Resource: resource, Namespace: namespace}}
}
