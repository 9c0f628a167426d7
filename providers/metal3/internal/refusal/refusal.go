// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal tells requests that the API server will not have, whatever the reason, from those that only failed now.
package refusal

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Check is how often a refused request is made again. Nothing tells when a quota, a policy, a webhook or a right changes.
const Check = time.Minute

// Is reports whether somebody has to do something before the request can succeed. Webhooks that do not answer count: they
// keep objects out until they are repaired.
func Is(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	case http.StatusInternalServerError:
		return strings.Contains(answer.Status().Message, "failed calling webhook")
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// Message names the object that was refused, the API server's words, and what to do.
func Message(kind, name string, err error) string {
	return fmt.Sprintf("the API server refuses %s %s: %s: %s", kind, name, words(err), wayOut(err))
}

func words(err error) string {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return answer.Status().Message
	}
	return err.Error()
}

func wayOut(err error) string {
	text := words(err)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "the namespace is being deleted; delete the Machine"
	case strings.Contains(text, "exceeded quota"):
		return "raise the ResourceQuota, or delete what is not needed"
	case strings.Contains(text, "failed calling webhook"):
		return "repair the webhook, or remove it"
	case strings.Contains(text, "cannot create resource"):
		return "give the service account that right"
	default:
		return "change the policy or webhook that objects, or what it objects to"
	}
}
