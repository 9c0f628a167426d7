// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// redirect makes the API server call webhooks at an address, trusted by caBundle, instead of at a Service. It leaves other objects alone.
func redirect(object *unstructured.Unstructured, address string, caBundle []byte) error {
	switch object.GetKind() {
	case "CustomResourceDefinition":
		webhook, found, err := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook")
		if err != nil || !found {
			return err
		}
		if err := redirectOne(webhook, address, caBundle); err != nil {
			return fmt.Errorf("redirecting the conversion of %s: %w", object.GetName(), err)
		}
		return unstructured.SetNestedMap(object.Object, webhook, "spec", "conversion", "webhook")
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, webhook := range webhooks {
			if err := redirectOne(webhook, address, caBundle); err != nil {
				return fmt.Errorf("redirecting %s: %w", object.GetName(), err)
			}
		}
		return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
	}
	return nil
}

// redirectOne rewrites the clientConfig of one webhook in place.
func redirectOne(webhook any, address string, caBundle []byte) error {
	fields, ok := webhook.(map[string]any)
	if !ok {
		return fmt.Errorf("a webhook is a %T", webhook)
	}
	path, found, err := unstructured.NestedString(fields, "clientConfig", "service", "path")
	if err != nil || !found {
		return fmt.Errorf("it names no Service and path (%w)", err)
	}
	fields["clientConfig"] = map[string]any{
		"url":      "https://" + address + path,
		"caBundle": base64.StdEncoding.EncodeToString(caBundle),
	}
	return nil
}
