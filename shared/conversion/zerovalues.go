// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ZeroValuesAnnotation on an infrastructure object holds, while it is converted to one version, the zero values with which it was written in the
	// other: empty strings, lists and maps, 0 and false. Types omit them when an object is encoded to JSON. Without them, every
	// time a client applies the object it finds a difference, writes it, and increases the generation.
	//
	// Its value is a JSON object that maps JSON pointers to values. A value is restored if the field is missing, or a string that the
	// conversion has filled in, and the value has no meaning, which is the case if the object converts to the same with and without
	// it. It is therefore safe if any client writes the annotation. It is removed when no values are left.
	ZeroValuesAnnotation = "conversion.infrastructure.cluster.x-k8s.io/zero-values"

	// longest is the maximum length of the annotation in bytes, enough for some hundred values.
	longest = 16 << 10
)

// keepZeros converts an object. It keeps the zero values that the reverse conversion would not restore in an annotation, and
// restores those kept in an annotation of the object.
func (h *handler) keepZeros(ctx context.Context, data []byte, apiVersion string) ([]byte, error) {
	var source map[string]any
	if err := unmarshal(data, &source); err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	text, found := takeAnnotation(source)
	if found {
		var err error
		if data, err = json.Marshal(source); err != nil {
			return nil, err
		}
	}
	plain, err := h.convert(ctx, data, apiVersion)
	if err != nil {
		return nil, err
	}
	kept := zeroValues(text)
	if len(kept) == 0 && !hasZeros(source) {
		return plain.data, nil
	}
	way := between{handler: h, from: fmt.Sprint(source["apiVersion"]), to: apiVersion}
	result, err := way.keepZeros(ctx, source, plain.data, kept)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Zero values of an object are not kept", "kind", source["kind"], "version", apiVersion)
		return plain.data, nil
	}
	return result, nil
}

// between converts from one version to another.
type between struct {
	*handler
	from, to string
}

func (b between) keepZeros(ctx context.Context, source map[string]any, plain []byte, kept map[string]any) ([]byte, error) {
	back, err := b.convert(ctx, plain, b.from)
	if err != nil {
		return nil, err
	}
	var again, object map[string]any
	if err := errors.Join(unmarshal(back.data, &again), unmarshal(plain, &object)); err != nil {
		return nil, err
	}
	if len(kept) > 0 {
		put, err := b.putBack(ctx, plain, back, kept)
		if err != nil {
			ctrl.LoggerFrom(ctx).Info("Annotation is ignored", "annotation", ZeroValuesAnnotation, "kind", source["kind"], "reason", err.Error())
		} else {
			object = put
		}
	}
	lost := map[string]any{}
	for name, value := range content(source) {
		collectZeros("/"+escape(name), value, again[name], lost)
	}
	if err := setAnnotation(object, lost); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// putBack returns a converted object with the kept zero values. It returns an error if they have a meaning. back is the object
// converted back to its original version.
func (b between) putBack(ctx context.Context, plain []byte, back converted, kept map[string]any) (map[string]any, error) {
	with, err := b.putInto(ctx, plain, back, kept, missing)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(with)
	if err != nil {
		return nil, err
	}
	if emptied, err := b.putInto(ctx, data, back, kept, filledIn); err == nil {
		return emptied, nil
	}
	return with, nil
}

// putInto returns an object in which the kept values replace what may be replaced. It returns an error if that has a meaning.
func (b between) putInto(ctx context.Context, data []byte, back converted, kept map[string]any, replaces func(is, value any) bool) (map[string]any, error) {
	var object map[string]any
	if err := unmarshal(data, &object); err != nil {
		return nil, err
	}
	for _, pointer := range slices.Sorted(maps.Keys(kept)) { // A struct comes before its fields.
		put(object, pointer, kept[pointer], replaces)
	}
	candidate, err := json.Marshal(object)
	if err != nil || bytes.Equal(candidate, data) {
		return object, err
	}
	return object, b.meansTheSame(ctx, candidate, back)
}

func missing(is, _ any) bool { return is == nil }

// filledIn reports whether a value is a string that may stand for an empty one.
func filledIn(is, value any) bool {
	text, isString := is.(string)
	return isString && text != "" && value == ""
}

// meansTheSame returns an error unless the candidate converts to the same object as back in the original version, and both still
// convert to the same when they are converted once more. The latter checks fields that only the candidate's version has.
func (b between) meansTheSame(ctx context.Context, candidate []byte, back converted) error {
	there, err := b.convert(ctx, candidate, b.from)
	if err != nil {
		return err
	}
	again, err := b.convert(ctx, there.data, b.to)
	if err != nil {
		return err
	}
	without, err := b.convert(ctx, back.data, b.to)
	switch {
	case err != nil:
		return err
	case !there.exact:
		return errors.New("the kind lacks some of the fields")
	case !sameContent(there.object, back.object) || !sameContent(again.object, without.object):
		return errors.New("its values change the meaning of the object")
	default:
		return nil
	}
}

// sameContent reports whether specs and statuses of two objects are semantically equal.
func sameContent(a, b client.Object) bool {
	return !slices.ContainsFunc(sections, func(section section) bool {
		return section.of(a).IsValid() && !equality.Semantic.DeepEqual(section.of(a).Interface(), section.of(b).Interface())
	})
}

// content returns an object without its type and metadata.
func content(object map[string]any) map[string]any {
	fields := maps.Clone(object)
	maps.DeleteFunc(fields, func(name string, _ any) bool { return !isContent(name) })
	return fields
}

func isContent(field string) bool {
	return field != "apiVersion" && field != "kind" && field != "metadata"
}

// hasZeros reports whether an object contains zero values.
func hasZeros(object map[string]any) bool {
	for _, value := range content(object) {
		if containsZero(value) {
			return true
		}
	}
	return false
}

func containsZero(value any) bool {
	if isZero(value) {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		for _, field := range value {
			if containsZero(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, containsZero)
	}
	return false
}

// isZero reports whether types may omit a value. 0s is the zero value of a duration.
func isZero(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == "" || value == "0s"
	case bool:
		return !value
	case json.Number:
		number, err := value.Float64()
		return err == nil && number == 0
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

// collectZeros collects the zero values at a pointer, and below, that are missing or filled in after an object was converted to the
// other version and back.
func collectZeros(pointer string, value, back any, lost map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		fields, isStruct := back.(map[string]any)
		if back == nil && onlyZeros(value) {
			lost[pointer] = map[string]any{}
		} else if !isStruct {
			return
		}
		for name, field := range value {
			collectZeros(pointer+"/"+escape(name), field, fields[name], lost)
		}
		return
	case []any:
		list, isList := back.([]any)
		if isList && len(list) == len(value) {
			for i, element := range value {
				collectZeros(pointer+"/"+strconv.Itoa(i), element, list[i], lost)
			}
		}
	}
	if isLost(back, value) {
		lost[pointer] = value
	}
}

// isLost reports whether a zero value is missing or filled in.
func isLost(is, value any) bool {
	return missing(is, value) && isZero(value) || filledIn(is, value)
}

// onlyZeros reports whether a struct only contains zero values and structs of them.
func onlyZeros(fields map[string]any) bool {
	for _, value := range fields {
		inner, isStruct := value.(map[string]any)
		if isStruct && !onlyZeros(inner) || !isStruct && !isZero(value) {
			return false
		}
	}
	return true
}

// put sets the value at a pointer of an object, if it replaces the field's and the parent exists. It does not add elements to lists.
func put(object map[string]any, pointer string, value any, replaces func(is, value any) bool) {
	names := strings.Split(pointer, "/")
	if len(names) < 2 || names[0] != "" || !isContent(unescape(names[1])) {
		return
	}
	var at any = object
	last := len(names) - 1
	for _, name := range names[1:last] {
		at = child(at, unescape(name))
	}
	if fields, isStruct := at.(map[string]any); isStruct && replaces(fields[unescape(names[last])], value) {
		fields[unescape(names[last])] = value
	}
}

func child(of any, name string) any {
	switch of := of.(type) {
	case map[string]any:
		return of[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(of) {
			return of[i]
		}
	}
	return nil
}

// escape and unescape convert the names in JSON pointers.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func unescape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
}

// zeroValues parses the annotation. It returns none if the annotation is invalid, too long or has other values.
func zeroValues(text string) map[string]any {
	var values map[string]any
	if len(text) > longest || unmarshal([]byte(text), &values) != nil {
		return nil
	}
	for _, value := range values {
		if !isZero(value) {
			return nil
		}
	}
	return values
}

// takeAnnotation removes the annotation from an object and returns its value.
func takeAnnotation(object map[string]any) (text string, found bool) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, found = annotations[ZeroValuesAnnotation].(string)
	delete(annotations, ZeroValuesAnnotation)
	return text, found
}

// setAnnotation sets the annotation with zero values, unless the API server would reject the annotations because of their size.
func setAnnotation(object, values map[string]any) error {
	metadata, isStruct := object["metadata"].(map[string]any)
	text, err := json.Marshal(values)
	if err != nil || !isStruct || len(values) == 0 || len(text) > longest {
		return err
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	texts := map[string]string{ZeroValuesAnnotation: string(text)}
	for name, value := range annotations {
		texts[name], _ = value.(string)
	}
	if validation.ValidateAnnotationsSize(texts) == nil {
		metadata["annotations"] = texts
	}
	return nil
}
