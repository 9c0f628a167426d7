// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/text"
)

// RefusedPause is the interval at which a rejected request is retried. No event reports that a quota, a policy, a webhook or an
// RBAC rule has changed.
const RefusedPause = time.Minute

// webhookRetry is the interval at which a request is retried when a webhook did not respond. A webhook server that is only being
// restarted is available again within seconds.
const webhookRetry = 5 * time.Second

// IsRejected reports whether a user must act before the request can succeed. This includes a webhook that cannot be called at all,
// because its Service does not exist or its certificate is not trusted: it blocks objects until it is repaired. A webhook that
// merely does not respond is not included, because it has not rejected anything; see IsTransient.
func IsRejected(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	case http.StatusInternalServerError:
		return webhookFailed(answer) && !IsTransient(err)
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// IsTransient reports whether the request failed because a webhook did not respond, for example while its server starts, stops or
// is overloaded. The same request can succeed soon.
func IsTransient(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Code != http.StatusInternalServerError || !webhookFailed(answer) {
		return false
	}
	for _, sign := range []string{
		"connection refused", "connection reset", "no endpoints available", "context deadline exceeded", "Client.Timeout exceeded",
		"i/o timeout", "TLS handshake timeout", "no route to host", "network is unreachable", "EOF", "client connection lost",
	} {
		if strings.Contains(answer.Status().Message, sign) {
			return true
		}
	}
	return false
}

// webhookFailed reports whether the API server could not call a webhook or could not parse its response.
func webhookFailed(answer apierrors.APIStatus) bool {
	return strings.Contains(answer.Status().Message, "failed calling webhook")
}

// RejectedError is the error of a request that was rejected, or for which a webhook did not respond. Its text is shown to users.
type RejectedError struct {
	// Kind and Name identify the rejected object.
	Kind, Name string
	// Response is the error returned by the API server.
	Response error
}

// Error returns RejectedMessage.
func (e *RejectedError) Error() string { return RejectedMessage(e.Kind, e.Name, e.Response) }

// Again returns how long to wait before the request is retried.
func (e *RejectedError) Again() time.Duration {
	if IsTransient(e.Response) {
		return webhookRetry
	}
	return RefusedPause
}

// Unwrap returns the API server's error.
func (e *RejectedError) Unwrap() error { return e.Response }

// Create creates an object and ignores that it already exists. It returns a RejectedError if a user must act or a webhook did not
// respond.
func Create(ctx context.Context, c client.Client, o client.Object, kind string) error {
	switch err := c.Create(ctx, o); {
	case client.IgnoreAlreadyExists(err) == nil:
		return nil
	case IsRejected(err), IsTransient(err):
		return &RejectedError{Kind: kind, Name: o.GetName(), Response: err}
	default:
		return fmt.Errorf("creating %s %s: %w", kind, o.GetName(), err)
	}
}

// RejectedMessage returns a message with the object, the API server's error, and how to fix it.
func RejectedMessage(kind, name string, err error) string {
	if IsTransient(err) {
		return fmt.Sprintf("the API server cannot call a webhook for %s %s: %s: the request is retried; if this persists, repair the webhook's server, or remove the webhook",
			kind, name, words(err))
	}
	return fmt.Sprintf("the API server rejects %s %s: %s: %s", kind, name, words(err), fix(err))
}

func words(err error) string {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return text.Steady(answer.Status().Message)
	}
	return text.Steady(err.Error())
}

func fix(err error) string {
	said := words(err)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "the namespace is being deleted; delete the Machine"
	case strings.Contains(said, "exceeded quota"):
		return "raise the ResourceQuota, or delete unused objects"
	case strings.Contains(said, "failed calling webhook"):
		return "repair the webhook, or remove it"
	case strings.Contains(said, "cannot create resource"):
		return "grant the service account that permission"
	default:
		return "change the policy or webhook that rejects it, or the rejected field"
	}
}
