// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/shared/rules"
)

// clonedFrom on an infrastructure machine is the annotation in which Cluster API records its template.
const clonedFrom = "cluster.x-k8s.io/cloned-from-name"

// refused reports objects whose creation this provider's webhooks would reject, by the webhooks' own rules. Existing objects are
// not validated again: they can be updated and deleted.
func refused(rulesOf func() (rules.Validators, error)) func(*examination) {
	return func(e *examination) {
		written, err := rulesOf()
		for _, kind := range e.Kinds {
			if err != nil {
				e.ofAll(kind, Check, "Refused", fmt.Sprintf("its objects are not checked: %v", err))
				continue
			}
			for i := range e.Objects[kind] {
				e.refusedOf(&e.Objects[kind][i], written)
			}
		}
	}
}

func (e *examination) refusedOf(object *unstructured.Unstructured, written rules.Validators) {
	errs, err := written.Errors(context.Background(), object) // the rules need no context
	verdict, consequence := e.consequence(object)
	if err != nil {
		e.about(object, verdict, "Refused", fmt.Sprintf("it cannot be read: %v; %s", err, consequence))
	}
	for _, wrong := range errs {
		e.aboutField(object, wrong.Field, verdict, "Refused", wrong.ErrorBody()+"; "+consequence)
	}
}

// consequence returns the consequence for an object whose creation would be rejected.
func (e *examination) consequence(object *unstructured.Unstructured) (Verdict, string) {
	of, isTemplate := strings.CutSuffix(object.GetKind(), "MachineTemplate")
	if !isTemplate {
		return Check, "it keeps working, but it cannot be created again, for example by clusterctl move or from a backup: correct it before that"
	}
	machine := of + "Machine"
	for i := range e.Objects[machine] {
		made := &e.Objects[machine][i]
		if made.GetNamespace() == object.GetNamespace() && made.GetAnnotations()[clonedFrom] == object.GetName() {
			return Stops, fmt.Sprintf("no more %s can be created from it, for example to replace one: roll out a corrected template under upstream first", machine)
		}
	}
	return Check, fmt.Sprintf("no %s can be created from it: create another template before it is used", machine)
}

// as decodes a field of an object, as far as it has the type.
func as[T any](object *unstructured.Unstructured, fields ...string) T {
	var to T
	from, found, err := unstructured.NestedFieldNoCopy(object.Object, fields...)
	if !found || err != nil {
		return to
	}
	if text, err := json.Marshal(from); err == nil {
		_ = json.Unmarshal(text, &to) // values of another type stay zero, and are validated by the API server
	}
	return to
}
