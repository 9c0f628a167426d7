// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
