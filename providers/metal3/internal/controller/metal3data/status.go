// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/terminalerror"
)

// show brings into the status whether the data is rendered, or what the user has to solve first. Data that only waits for
// an event shows neither: it would cost every machine a request. Nor does data that another provider has rendered: taking
// over writes nothing.
func show(data *infrav1.Metal3Data, done bool, reason, problem string) {
	if done && data.Status.Ready && len(data.Status.Conditions) == 0 {
		return
	}
	data.Status.Ready, data.Status.ErrorMessage = done, nil
	switch {
	case problem != "":
		data.Status.ErrorMessage = ptr.To(problem)
		status.False(data, infrav1.Metal3DataReadyCondition, reason, problem)
	case done:
		status.True(data, infrav1.Metal3DataReadyCondition, infrav1.Metal3DataReadyReason)
	default:
		conditions.Delete(data, infrav1.Metal3DataReadyCondition)
	}
}

// refused is the API server's answer to an object that the data needs. It says what the user can do.
type refused struct {
	reason string
	kind   string
	name   string
	answer error
}

func (r *refused) Error() string {
	return terminalerror.Message(r.kind, r.name, r.answer)
}

func (r *refused) Unwrap() error {
	return r.answer
}

// create makes an object that may be there already. An error is a refused one where the user has to do something.
func (r *Reconciler) create(ctx context.Context, o client.Object, kind, reason string) error {
	err := r.Client.Create(ctx, o)
	switch {
	case client.IgnoreAlreadyExists(err) == nil:
		return nil
	case terminalerror.Is(err):
		return &refused{reason: reason, kind: kind, name: o.GetName(), answer: err}
	default:
		return fmt.Errorf("creating %s %s: %w", kind, o.GetName(), err)
	}
}
