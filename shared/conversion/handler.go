// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion/metrics"
)

// path is the path of the conversion webhook.
const path = "/convert"

// Serve registers the conversion webhook for the converters in the manager's registry. Call it before the first webhook is set
// up: otherwise controller-runtime registers its own handler, which does not keep zero values.
func Serve(mgr ctrl.Manager) {
	mgr.GetWebhookServer().Register(path, NewHandler(mgr.GetScheme(), mgr.GetConverterRegistry()))
}

// NewHandler returns the conversion webhook's handler. It converts with the registered converters, and keeps the zero values that
// they omit; see ZeroValuesAnnotation.
func NewHandler(scheme *runtime.Scheme, registry conversion.Registry) http.Handler {
	return &handler{
		scheme: scheme, registry: registry,
		decoder: serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(),
	}
}

type handler struct {
	scheme   *runtime.Scheme
	registry conversion.Registry
	decoder  runtime.Decoder
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, review := r.Context(), &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(w, "the body is not a ConversionReview with a request", http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	objects, err := h.convertAll(ctx, review.Request)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Objects cannot be converted", "version", review.Request.DesiredAPIVersion)
		review.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	}
	review.Request, review.Response.ConvertedObjects = nil, objects
	if err := json.NewEncoder(w).Encode(review); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Conversion review cannot be answered")
	}
}

func (h *handler) convertAll(ctx context.Context, request *apiextensionsv1.ConversionRequest) (objects []runtime.RawExtension, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			metrics.WebhookPanics.WithLabelValues().Inc()
			objects, err = nil, fmt.Errorf("converting panicked: %v", cause)
		}
	}()
	for _, object := range request.Objects {
		data, err := h.keepZeros(ctx, object.Raw, request.DesiredAPIVersion)
		if err != nil {
			return nil, err
		}
		objects = append(objects, runtime.RawExtension{Raw: data})
	}
	return objects, nil
}

// converted is the result of converting an object.
type converted struct {
	object client.Object
	data   []byte
	// exact is true if the object had no unknown fields.
	exact bool
}

// convert converts an object with the converter of its kind.
func (h *handler) convert(ctx context.Context, data []byte, apiVersion string) (converted, error) {
	from, kind, err := h.decoder.Decode(data, nil, nil)
	exact := err == nil
	if err != nil && !runtime.IsStrictDecodingError(err) {
		return converted{}, fmt.Errorf("reading an object: %w", err)
	}
	wanted := schema.FromAPIVersionAndKind(apiVersion, kind.Kind)
	created, err := h.scheme.New(wanted)
	if err != nil {
		return converted{}, err
	}
	to, isObject := created.(client.Object)
	converter, found := h.registry.GetConverter(kind.GroupKind())
	if !isObject || !found || wanted.GroupKind() != kind.GroupKind() {
		return converted{}, fmt.Errorf("%s has no converter to %s", kind.GroupKind(), apiVersion)
	}
	to.GetObjectKind().SetGroupVersionKind(wanted)
	if err := converter.ConvertObject(ctx, from, to); err != nil {
		return converted{}, err
	}
	data, err = json.Marshal(to)
	return converted{object: to, data: data, exact: exact}, err
}
