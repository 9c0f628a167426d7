// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// writer writes the desired states of failure domains.
type writer struct {
	client client.WithWatch
	force  bool
	dryRun string
	// request is recorded with the state; nil records nothing.
	request *report.Request
}

// written is the result of a write.
type written struct {
	// object is the infrastructure cluster after the write, or the apply configuration in a client-side dry run.
	object  *unstructured.Unstructured
	domains []changed
}

// changed is the result for one domain.
type changed struct {
	name      string
	unchanged bool
	// note is a hint for the user.
	note string
}

// write sets the state of failure domains. It retries on conflict.
func (w writer) write(ctx context.Context, cluster client.ObjectKey, domains []string, state faultlinev1.DomainState) (written, error) {
	var result written
	err := retry.OnError(retry.DefaultBackoff, outdated, func() error {
		infra, err := (collect.Reader{Client: w.client}).Infrastructure(ctx, cluster)
		if err != nil {
			return err
		}
		if err := known(infra, domains); err != nil {
			return err
		}
		result, err = w.apply(ctx, infra, domains, state)
		return err
	})
	return result, err
}

// outdated reports whether a write failed because of a resourceVersion conflict, and not because another field manager owns a
// field.
func outdated(err error) bool {
	return apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// known returns an error for a failure domain that the infrastructure cluster does not have.
func known(infra *unstructured.Unstructured, domains []string) error {
	names := knownDomains(infra)
	if len(names) == 0 {
		return fmt.Errorf("%s %s has no status.distribution.failureDomains, which Faultline's providers write: see its conditions, and whether its provider runs",
			infra.GetKind(), infra.GetName())
	}
	for _, domain := range domains {
		if !slices.Contains(names, domain) {
			return fmt.Errorf("%s %s has no failure domain %s: choose one of %s", infra.GetKind(), infra.GetName(), domain, collect.List(names))
		}
	}
	return nil
}

func (w writer) apply(ctx context.Context, infra *unstructured.Unstructured, domains []string, state faultlinev1.DomainState) (written, error) {
	result := written{object: infra}
	states := map[string]faultlinev1.DomainState{}
	for _, domain := range domains {
		change := changed{name: domain, unchanged: wantedState(infra, domain) == state, note: note(infra, domain, state)}
		result.domains = append(result.domains, change)
		if !change.unchanged {
			states[domain] = state
		}
	}
	if len(states) == 0 && w.request == nil {
		return result, nil
	}
	object, err := applyConfiguration(infra, states)
	if err != nil {
		return result, err
	}
	if err := w.record(object, infra, domains); err != nil {
		return result, err
	}
	if result.object = object; w.dryRun == "client" {
		object.SetResourceVersion("")
		return result, nil
	}
	options := []client.ApplyOption{client.FieldOwner(fieldManager)}
	if w.force {
		options = append(options, client.ForceOwnership)
	}
	if w.dryRun == "server" {
		options = append(options, client.DryRunAll)
	}
	err = w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
	return result, w.explain(err, infra, states)
}

// note returns a hint for a domain that will not become Active although the user activates it.
func note(infra *unstructured.Unstructured, domain string, state faultlinev1.DomainState) string {
	status := statusOf(infra, domain)
	if state != faultlinev1.DomainActive || status == nil || status.State == state || status.Reason == faultlinev1.ReasonCordonRequested ||
		status.Reason == faultlinev1.ReasonEvictionRequested {
		return ""
	}
	return fmt.Sprintf("note: failure domain %s is %s for another reason, %s, which must be resolved first: %s", domain, status.State, status.Reason, status.Message)
}

// explain returns how to fix an apply that was rejected.
func (w writer) explain(err error, infra *unstructured.Unstructured, states map[string]faultlinev1.DomainState) error {
	if !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		return collect.Denied(err, w.client.RESTMapper(), infra.GroupVersionKind(), "patch", infra.GetNamespace())
	}
	var owners, names []string
	for domain := range states {
		if of := entryOwners(infra, domain); len(of) > 0 {
			owners, names = append(owners, of...), append(names, domain)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("annotation %s of %s %s belongs to another field manager: omit --reason, or take it over with --force-conflicts",
			faultlinev1.StateReasonsAnnotation, infra.GetKind(), infra.GetName())
	}
	slices.Sort(owners)
	slices.Sort(names)
	owners = slices.Compact(owners)
	what := fmt.Sprintf("the entry of %s %s for failure domain %s", infra.GetKind(), infra.GetName(), strings.Join(names, ", "))
	if slices.Contains(owners, topologyManager) {
		return fmt.Errorf("%s is set by its ClusterClass, which would restore it: change it there, or in a variable of the Cluster", what)
	}
	return fmt.Errorf("%s belongs to field manager %s: change it there, or take it over with --force-conflicts", what, strings.Join(owners, ", "))
}

// wait waits until the status of the infrastructure cluster has the state.
func (w writer) wait(
	ctx context.Context, infra *unstructured.Unstructured, domains []string, state faultlinev1.DomainState, timeout time.Duration,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reached := func(event watch.Event) (bool, error) {
		seen, ok := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Deleted:
			return false, fmt.Errorf("%s %s was deleted while waiting", infra.GetKind(), infra.GetName())
		case event.Type == watch.Error:
			return false, apierrors.FromObject(event.Object)
		case !ok:
			return false, nil
		}
		infra = seen
		return len(notInState(infra, domains, state)) == 0, nil
	}
	for {
		events, err := w.watch(ctx, infra)
		if err == nil {
			_, err = watchtools.UntilWithoutRetry(ctx, events, reached)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("timed out after %s waiting for failure domains to be %s: %s: see kubectl fd get", timeout, state, strings.Join(notInState(infra, domains, state), "; "))
		case errors.Is(err, watchtools.ErrWatchClosed): // This happens occasionally with every API server.
		default:
			return err
		}
	}
}

// watch starts with the current object.
func (w writer) watch(ctx context.Context, infra *unstructured.Unstructured) (watch.Interface, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(infra.GroupVersionKind().GroupVersion().WithKind(infra.GetKind() + "List"))
	events, err := w.client.Watch(ctx, list, client.InNamespace(infra.GetNamespace()),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", infra.GetName())})
	return events, collect.Denied(err, w.client.RESTMapper(), infra.GroupVersionKind(), "watch", infra.GetNamespace())
}

// notInState lists the domains that are in another state, and why.
func notInState(infra *unstructured.Unstructured, domains []string, state faultlinev1.DomainState) []string {
	var names []string
	for _, domain := range domains {
		status := statusOf(infra, domain)
		switch {
		case status == nil:
			names = append(names, domain+" is not in the status")
		case status.State != state && status.Reason != "":
			names = append(names, fmt.Sprintf("%s is %s (%s)", domain, status.State, status.Reason))
		case status.State != state:
			names = append(names, fmt.Sprintf("%s is %s", domain, status.State))
		}
	}
	return names
}
