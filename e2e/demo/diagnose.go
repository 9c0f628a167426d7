// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// clusterAPISuffix is the suffix of the API groups of Cluster API and its providers.
const clusterAPISuffix = "cluster.x-k8s.io"

// Explain formats an error of Run for the user: the step, the reason, the objects concerned and where to read on.
func Explain(err error) string {
	var failed *StepError
	if !errors.As(err, &failed) {
		return "Error: " + err.Error()
	}
	if errors.Is(err, ErrInterrupted) {
		return "Interrupted at: " + failed.Step
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Failed at: %s\n  %v\n", failed.Step, failed.Err)
	if failed.Diagnosis != "" {
		fmt.Fprintf(&text, "Unexpected state:\n%s", failed.Diagnosis)
	}
	fmt.Fprintf(&text, "Logs: %s", failed.Logs)
	return text.String()
}

// clusterAPIObjects lists all objects of Cluster API and of the providers, of any kind.
func (d *demo) clusterAPIObjects(ctx context.Context) ([]unstructured.Unstructured, error) {
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := d.Management.Client.List(ctx, &crds); err != nil {
		return nil, fmt.Errorf("listing CRDs: %w", err)
	}
	var objects []unstructured.Unstructured
	for _, crd := range crds.Items {
		if !strings.HasSuffix(crd.Spec.Group, clusterAPISuffix) {
			continue
		}
		version, err := apihelpers.GetCRDStorageVersion(&crd)
		if err != nil {
			return nil, err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.ListKind})
		if err := d.Management.Client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing %s: %w", crd.Spec.Names.Plural, err)
		}
		objects = append(objects, list.Items...)
	}
	return objects, nil
}

// diagnose describes the objects that have findings.
func (d *demo) diagnose(ctx context.Context) string {
	objects, err := d.clusterAPIObjects(ctx)
	if err != nil {
		return "  (unknown: " + err.Error() + ")\n"
	}
	return findings(objects)
}

// findings lists, for each object, the conditions that report a problem and pending deletions.
func findings(objects []unstructured.Unstructured) string {
	var text strings.Builder
	for i := range objects {
		object := &objects[i]
		var lines []string
		if object.GetDeletionTimestamp() != nil {
			lines = append(lines, "is being deleted; finalizers "+strings.Join(object.GetFinalizers(), ", "))
		}
		all, _ := conditions.UnstructuredGetAll(object) // Malformed conditions are ignored.
		for _, c := range all {
			if bad(c) {
				lines = append(lines, strings.Join(strings.Fields(words(c)), " "))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&text, "  %s %s\n    %s\n", object.GetKind(), object.GetName(), strings.Join(lines, "\n    "))
		}
	}
	return text.String()
}

// bad reports whether a condition is a finding. Most conditions are healthy when True; those that report ongoing work are healthy when
// False.
func bad(c metav1.Condition) bool {
	goingOn := []string{
		clusterv1.DeletingCondition, clusterv1.ScalingUpCondition, clusterv1.ScalingDownCondition,
		clusterv1.RollingOutCondition, clusterv1.RemediatingCondition, clusterv1.PausedCondition, clusterv1.MachineUpdatingCondition,
	}
	if slices.Contains(goingOn, c.Type) {
		return c.Status == metav1.ConditionTrue
	}
	return c.Status != metav1.ConditionTrue
}
