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

// setStatus updates the status with the result, or with the problem that the user must fix. Data that only waits for an event sets
// neither, which saves a request for each machine. Data rendered by another provider is not changed either, so that a takeover
// writes nothing.
func setStatus(data *infrav1.Metal3Data, done bool, reason, problem string) {
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

// refused is the rejection of an object by the API server, with the reason for the condition.
type refused struct {
	error
	reason     string
	retryAfter time.Duration
}

// withReason adds a condition reason to an error if the API server has rejected an object.
func withReason(reason string, err error) error {
	var answer *reconcile.RejectedError
	if errors.As(err, &answer) {
		return &refused{answer, reason, answer.Again()}
	}
	return err
}
