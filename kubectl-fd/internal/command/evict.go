// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// errEmpty ends the watch of failure domains that are empty.
var errEmpty = errors.New("the failure domains are empty")

// evictionWaiter observes failure domains of a cluster that are being emptied.
type evictionWaiter struct {
	cluster client.ObjectKey
	domains []string
}

// look returns why the failure domains are not empty yet, and the machines that no controller will move out of them.
func (e evictionWaiter) look(ctx context.Context, reader collect.Reader) (left []string, staying []report.Staying, err error) {
	clusters, err := reader.Reports(ctx, collect.Scope{Namespace: e.cluster.Namespace, Names: []string{e.cluster.Name}})
	if err != nil {
		return nil, nil, err
	}
	all, err := deployments(ctx, reader, e.cluster)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range e.domains {
		if why := notEmpty(clusters[0].Domain(name)); why != "" {
			left = append(left, name+why)
		}
	}
	return left, report.StayingMachines(clusters[0], all, e.domains), nil
}

// notEmpty returns why a failure domain is not empty yet, "" if it is.
func notEmpty(domain *report.Domain) string {
	switch {
	case domain == nil:
		return " is not in the status"
	case domain.State != faultlinev1.DomainEvicting:
		return " is " + string(domain.State)
	case len(domain.Machines) == 0:
		return ""
	}
	names := make([]string, 0, len(domain.Machines))
	for _, machine := range domain.Machines {
		names = append(names, machine.Name)
	}
	return " has " + collect.List(names)
}

// note prints the machines that no controller will move. If they cannot be determined it prints that instead of failing, because
// the state has been set.
func (e evictionWaiter) note(ctx context.Context, reader collect.Reader, out io.Writer) {
	_, staying, err := e.look(ctx, reader)
	if err != nil {
		_, _ = fmt.Fprintln(out, "note: the machines that no controller will move cannot be determined:", err)
	}
	for _, s := range staying {
		_, _ = fmt.Fprintln(out, "note:", stays(s))
	}
}

func stays(s report.Staying) string {
	verb := "stay"
	if len(s.Machines) == 1 {
		verb = "stays"
	}
	return fmt.Sprintf("%s of %s %s: %s", collect.List(s.Machines), s.Of, verb, s.Why)
}

// remaining is look, with an error if no controller will move one of the machines.
func (e evictionWaiter) remaining(ctx context.Context, reader collect.Reader) ([]string, error) {
	left, staying, err := e.look(ctx, reader)
	if err == nil && len(staying) > 0 {
		err = neverEmptyError(e.domains, staying)
	}
	return left, err
}

// wait waits until the failure domains are Evicting and have no machines. It returns immediately if no controller will move one
// of the machines. The first look, from the API server itself, may take longer than the timeout, so that an error always states why
// the failure domains are not empty.
func (e evictionWaiter) wait(ctx context.Context, r *root, reader collect.Reader, timeout time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	left, err := e.remaining(ctx, reader)
	if err != nil || len(left) == 0 {
		return err
	}
	config, options, err := r.connection()
	if err != nil {
		return err
	}
	err = collect.Watch(limited, config, options, e.cluster.Namespace, func(ctx context.Context, reader collect.Reader) error {
		now, err := e.remaining(ctx, reader)
		if err != nil {
			return err
		}
		if left = now; len(left) == 0 {
			return errEmpty
		}
		return nil
	})
	switch {
	case errors.Is(err, errEmpty):
		return nil
	case limited.Err() != nil:
		return fmt.Errorf("timed out after %s waiting for failure domains to be empty: %s: see kubectl fd plan", timeout, strings.Join(left, "; "))
	}
	return err
}

// neverEmptyError returns an error that states why failure domains will not become empty.
func neverEmptyError(domains []string, staying []report.Staying) error {
	lines := make([]string, 0, len(staying))
	for _, s := range staying {
		lines = append(lines, stays(s))
	}
	return errors.New("failure domain " + collect.List(domains) + " will not be empty: " + strings.Join(lines, "; "))
}
