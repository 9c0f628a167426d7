// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// clonedFrom is the annotation by which Cluster API notes the template of a machine.
const clonedFrom = "cluster.x-k8s.io/cloned-from-name"

// kind is one of a provider's, and what this provider's webhook refuses of it that upstream's accepts. The rules are those of the
// webhook, which is of another module: testdata has what each of them is about, and the tests of both go through it.
type kind struct {
	name string
	// spec is where the kind has what is looked at.
	spec []string
	look func(object *unstructured.Unstructured, path *field.Path) field.ErrorList
	// makes is the kind of the machines that are made from a template, "" for others.
	makes string
}

func (k kind) path() *field.Path {
	if len(k.spec) == 0 {
		return nil
	}
	return field.NewPath(k.spec[0], k.spec[1:]...)
}

// refused says what this provider's webhook would refuse to have created. Objects that are there are not looked at again: they can
// be updated and deleted.
func refused(kinds ...kind) func(*examination) {
	return func(e *examination) {
		for _, kind := range kinds {
			for i := range e.Objects[kind.name] {
				object := &e.Objects[kind.name][i]
				for _, wrong := range kind.look(object, kind.path()) {
					verdict, consequence := e.consequence(kind, object)
					e.aboutField(object, wrong.Field, verdict, "Refused", wrong.ErrorBody()+"; "+consequence)
				}
			}
		}
	}
}

// consequence of what would be refused.
func (e *examination) consequence(kind kind, object *unstructured.Unstructured) (Verdict, string) {
	if kind.makes == "" {
		return Check, "it stays as it is, but cannot be created again, as by clusterctl move or from a backup: correct it before"
	}
	for i := range e.Objects[kind.makes] {
		made := &e.Objects[kind.makes][i]
		if made.GetNamespace() == object.GetNamespace() && made.GetAnnotations()[clonedFrom] == object.GetName() {
			return Stops, fmt.Sprintf("no further %s can be made from it, as when one is replaced: roll out a corrected template under upstream first", kind.makes)
		}
	}
	return Check, fmt.Sprintf("no %s can be made from it: make another template before it is used", kind.makes)
}

// as reads what an object has somewhere, as far as it fits.
func as[T any](object *unstructured.Unstructured, fields ...string) T {
	var to T
	from, found, err := unstructured.NestedFieldNoCopy(object.Object, fields...)
	if !found || err != nil {
		return to
	}
	if text, err := json.Marshal(from); err == nil {
		_ = json.Unmarshal(text, &to) // what has another type has its zero value, and is left to the API server
	}
	return to
}

// reference names another object.
type reference struct{ Namespace, Name string }

// ofNamespace wants another object to be in the namespace of the one that names it.
func ofNamespace(namespace, own string, path *field.Path) field.ErrorList {
	if namespace == "" || namespace == own {
		return nil
	}
	return field.ErrorList{field.Invalid(path, namespace, "has to be the namespace of this object, "+own)}
}

func labelValue(name string, path *field.Path) field.ErrorList {
	if name == "" || len(validation.IsValidLabelValue(name)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "is no value of a label, which the names of failure domains are")}
}

func address(text string, path *field.Path) field.ErrorList {
	if _, err := netip.ParseAddr(text); err == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(path, text, "is no IP address")}
}
