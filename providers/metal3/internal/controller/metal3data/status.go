// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"errors"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
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

// refused is the API server's answer to an object that the data needs, and the reason of the condition that shows it.
type refused struct {
	error
	reason string
	again  time.Duration
}

// refusedFor gives a reason to an error that says that the API server has refused something.
func refusedFor(reason string, err error) error {
	var answer *reconcile.RefusedError
	if errors.As(err, &answer) {
		return &refused{answer, reason, answer.Again()}
	}
	return err
}
