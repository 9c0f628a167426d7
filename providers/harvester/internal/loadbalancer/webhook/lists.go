// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// lists converts a single value to a list where the schema requires a list: the documents that introduced load balancers write the values
// of a selector and the machines of a status this way. Defaulting runs before schema validation, so a list is stored.
type lists struct {
	admission.Handler
}

// Handle converts single values to lists and calls the wrapped Handler.
func (h lists) Handle(ctx context.Context, req admission.Request) admission.Response {
	single, err := singleValues(req.Object.Raw)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if len(single) == 0 {
		return h.Handler.Handle(ctx, req)
	}
	if req.Object.Raw, err = listed(req.Object.Raw, single); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	response := h.Handler.Handle(ctx, req)
	if !response.Allowed {
		return response
	}
	var patches []jsonpatch.JsonPatchOperation
	for _, at := range single {
		patches = append(patches, jsonpatch.NewOperation("replace", "/"+strings.Join(at.pointer(), "/"), []string{at.value}))
	}
	response.Patches, response.PatchType = append(patches, response.Patches...), ptr.To(admissionv1.PatchTypeJSONPatch)
	return response
}

// singleValue is a single value in place of a list.
type singleValue struct {
	path  []string
	value string
}

// pointer returns the path as a JSON pointer.
func (s singleValue) pointer() []string {
	pointer := make([]string, len(s.path))
	for i, name := range s.path {
		pointer[i] = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return pointer
}

// singleValues returns the single values in a load balancer.
func singleValues(raw []byte) ([]singleValue, error) {
	of := struct {
		Spec struct {
			BackendServerSelector map[string]any `json:"backendServerSelector"`
		} `json:"spec"`
		Status struct {
			BackendServers any `json:"backendServers"`
		} `json:"status"`
	}{}
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &of); err != nil {
		return nil, err
	}
	var all []singleValue
	for _, label := range slices.Sorted(maps.Keys(of.Spec.BackendServerSelector)) {
		if value, ok := of.Spec.BackendServerSelector[label].(string); ok {
			all = append(all, singleValue{path: []string{"spec", "backendServerSelector", label}, value: value})
		}
	}
	if value, ok := of.Status.BackendServers.(string); ok {
		all = append(all, singleValue{path: []string{"status", "backendServers"}, value: value})
	}
	return all, nil
}

// listed returns the load balancer with lists.
func listed(raw []byte, single []singleValue) ([]byte, error) {
	object := map[string]any{}
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	for _, at := range single {
		in := object
		for _, name := range at.path[:len(at.path)-1] {
			in, _ = in[name].(map[string]any) // it was found there
		}
		in[at.path[len(at.path)-1]] = []string{at.value}
	}
	return json.Marshal(object)
}
