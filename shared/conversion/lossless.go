// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// object is a pointer to a kind.
type object[T any] interface {
	*T
	client.Object
	metav1.ObjectMetaAccessor
}

// LosslessPair returns a Constructor for a kind with one spoke that converts with Lossless.
func LosslessPair[H, S any, hub object[H], spoke object[S]](annotation string, fromHub func(hub, spoke), toHub func(spoke, hub)) Constructor {
	from, to := Lossless(annotation, fromHub, toHub)
	return pair(hub(new(H)), spoke(new(S)), from, to)
}

// Lossless returns the two conversion functions of a kind from two functions that only convert what both versions can express,
// except for metadata.
//
// If a part of the spec or status would be lost, the whole spec or status is kept in an annotation of the converted object: that
// of the hub in Cluster API's annotation, that of the spoke in the given one. The reverse conversion restores it field by field:
// a field that has not changed since the conversion gets the kept value, a changed field keeps its new value. Elements of lists
// are matched by name if they have names.
//
// An invalid annotation is ignored and logged, so that the object can still be read and deleted.
func Lossless[H, S any, hub object[H], spoke object[S]](annotation string, fromHub func(hub, spoke), toHub func(spoke, hub)) (
	from func(context.Context, hub, spoke) error, to func(context.Context, spoke, hub) error,
) {
	down := way[H, S, hub, spoke]{there: fromHub, back: toHub, keep: utilconversion.DataAnnotation, kept: annotation}
	up := way[S, H, spoke, hub]{there: toHub, back: fromHub, keep: annotation, kept: utilconversion.DataAnnotation}
	return down.convert, up.convert
}

// way is the conversion of a kind from one version to another.
type way[A, B any, from object[A], to object[B]] struct {
	there func(from, to)
	back  func(to, from)
	// keep is the annotation in which lost parts are kept, and kept the one from which they are restored.
	keep, kept string
}

func (w way[A, B, from, to]) convert(ctx context.Context, src from, dst to) error {
	copyMetadata(src, dst)
	w.there(src, dst)
	dst.SetAnnotations(maps.Clone(dst.GetAnnotations()))
	if data, found := dst.GetAnnotations()[w.kept]; found {
		annotate(dst, w.kept, "")
		if err := w.restore(dst, []byte(data)); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Annotation cannot be read, fields of the other version are lost", "annotation", w.kept,
				"kind", fmt.Sprintf("%T", dst), "namespace", dst.GetNamespace(), "name", dst.GetName())
		}
	}
	again := from(new(A))
	w.back(dst, again)
	lost, err := differing(src, again)
	if err != nil || len(lost) == 0 {
		annotate(dst, w.keep, "")
		return err
	}
	data, err := json.Marshal(lost)
	if err != nil {
		return fmt.Errorf("storing fields that the other version does not have in annotation %s: %w", w.keep, err)
	}
	annotate(dst, w.keep, string(data))
	return nil
}

// annotate sets the annotation, or removes it if the value is empty.
func annotate(object client.Object, name, value string) {
	annotations := object.GetAnnotations()
	if value == "" {
		delete(annotations, name)
	} else {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[name] = value
	}
	object.SetAnnotations(annotations)
}

// restore merges what was kept into dst. If it fails, dst is unchanged.
func (w way[A, B, from, to]) restore(dst to, data []byte) error {
	kept := to(new(B))
	if err := json.Unmarshal(data, kept); err != nil {
		return err
	}
	// unchanged is what dst would be if no client had changed anything since.
	again, unchanged := from(new(A)), to(new(B))
	w.back(kept, again)
	w.there(again, unchanged)
	var read map[string]any
	if err := unmarshal(data, &read); err != nil {
		return err
	}
	merged := map[section]reflect.Value{}
	for _, section := range sections {
		if _, found := read[section.json]; !found || !section.of(dst).IsValid() {
			continue
		}
		value, err := section.merge(kept, unchanged, dst)
		if err != nil {
			return err
		}
		merged[section] = value
	}
	for section, value := range merged {
		section.of(dst).Set(value)
	}
	return nil
}

// section is a part of an object that is kept, or not, as a whole.
type section struct{ field, json string }

var sections = []section{{field: "Spec", json: "spec"}, {field: "Status", json: "status"}} //nolint:gochecknoglobals // a constant that Go cannot express as one

// of returns the section of an object; it is invalid if none exists.
func (s section) of(object client.Object) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName(s.field)
}

// read decodes the section from its JSON form.
func (s section) read(object client.Object, value *any) error {
	data, err := json.Marshal(s.of(object).Interface())
	if err != nil {
		return err
	}
	return unmarshal(data, value)
}

// merge returns the section of now with the kept value of each field that is the same as then.
func (s section) merge(kept, then, now client.Object) (reflect.Value, error) {
	var values [3]any
	for i, object := range []client.Object{kept, then, now} {
		if err := s.read(object, &values[i]); err != nil {
			return reflect.Value{}, err
		}
	}
	data, err := json.Marshal(merge(values[0], values[1], values[2]))
	if err != nil {
		return reflect.Value{}, err
	}
	merged := reflect.New(s.of(now).Type())
	return merged.Elem(), json.Unmarshal(data, merged.Interface())
}

// differing returns the sections of a, in JSON form, that differ in b.
func differing(a, b client.Object) (map[string]any, error) {
	differ := map[string]any{}
	for _, section := range sections {
		if !section.of(a).IsValid() || reflect.DeepEqual(section.of(a).Interface(), section.of(b).Interface()) {
			continue
		}
		var inA, inB any
		if err := section.read(a, &inA); err != nil {
			return nil, err
		}
		if err := section.read(b, &inB); err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(inA, inB) {
			differ[section.json] = inA
		}
	}
	return differ, nil
}

// unmarshal decodes JSON and keeps numbers as they are written.
func unmarshal(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}
