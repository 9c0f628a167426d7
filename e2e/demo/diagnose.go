// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// clusterAPISuffix ends the API groups of Cluster API and its providers.
const clusterAPISuffix = "cluster.x-k8s.io"

// Explain words an error of Run for the person in front of it: the step, the
// reason, the objects concerned and where to read on.
func Explain(err error) string {
	var failed *StepError
	if !errors.As(err, &failed) {
		return "Failed: " + err.Error()
	}
	if errors.Is(err, ErrInterrupted) {
		return "Interrupted at: " + failed.Step
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Failed at: %s\n  %v\n", failed.Step, failed.Err)
	if failed.Diagnosis != "" {
		fmt.Fprintf(&text, "Not as it should be:\n%s", failed.Diagnosis)
	}
	fmt.Fprintf(&text, "Logs: %s", failed.Logs)
	return text.String()
}

// clusterAPIObjects lists all objects of Cluster API and of the providers,
// whatever their kinds are.
func (d *demo) clusterAPIObjects(ctx context.Context) ([]unstructured.Unstructured, error) {
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := d.management.Client.List(ctx, &crds); err != nil {
		return nil, fmt.Errorf("listing CRDs: %w", err)
	}
	var objects []unstructured.Unstructured
	for _, crd := range crds.Items {
		if !strings.HasSuffix(crd.Spec.Group, clusterAPISuffix) {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{
			Group: crd.Spec.Group, Version: storageVersion(crd), Kind: crd.Spec.Names.ListKind,
		})
		if err := d.management.Client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing %s: %w", crd.Spec.Names.Plural, err)
		}
		objects = append(objects, list.Items...)
	}
	return objects, nil
}

func storageVersion(crd apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// diagnose describes the objects that are not as they should be.
func (d *demo) diagnose(ctx context.Context) string {
	objects, err := d.clusterAPIObjects(ctx)
	if err != nil {
		return "  (unknown: " + err.Error() + ")\n"
	}
	return findings(objects)
}

// findings lists, object by object, the conditions that say that something is
// wrong, and deletions that wait.
func findings(objects []unstructured.Unstructured) string {
	var text strings.Builder
	for i := range objects {
		object := &objects[i]
		var lines []string
		if object.GetDeletionTimestamp() != nil {
			lines = append(lines, "is being deleted; finalizers "+strings.Join(object.GetFinalizers(), ", "))
		}
		for _, c := range conditionsOf(object) {
			if bad(c) {
				lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, oneLine(c.Message)), ": "))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&text, "  %s %s\n    %s\n", object.GetKind(), object.GetName(), strings.Join(lines, "\n    "))
		}
	}
	return text.String()
}

// bad tells whether a condition is a finding. Most conditions are good when True;
// those that tell of something going on are good when False.
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

// conditionsOf reads status.conditions; what is malformed is passed over.
func conditionsOf(object *unstructured.Unstructured) []metav1.Condition {
	raw, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var conditions []metav1.Condition
	for _, item := range raw {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		var c metav1.Condition
		if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			conditions = append(conditions, c)
		}
	}
	return conditions
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
