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

// pollInterval is the polling interval for failure domains that are being emptied.
const pollInterval = time.Second

// evictionWaiter polls failure domains of a cluster that are being emptied.
type evictionWaiter struct {
	reader  collect.Reader
	cluster client.ObjectKey
	domains []string
}

// look returns why the failure domains are not empty yet, and the machines that no controller will move out of them.
func (e evictionWaiter) look(ctx context.Context) (left []string, staying []report.Staying, err error) {
	clusters, err := e.reader.Reports(ctx, collect.Scope{Namespace: e.cluster.Namespace, Names: []string{e.cluster.Name}})
	if err != nil {
		return nil, nil, err
	}
	all, err := deployments(ctx, e.reader, e.cluster)
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
func (e evictionWaiter) note(ctx context.Context, out io.Writer) {
	_, staying, err := e.look(ctx)
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

// wait waits until the failure domains are Evicting and have no machines. It returns immediately if no controller will move one
// of the machines. The first poll may take longer than the timeout, so that an error always states why the failure domains are
// not empty.
func (e evictionWaiter) wait(ctx context.Context, timeout time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	left, staying, err := e.look(ctx)
	for {
		switch {
		case err != nil:
			return err
		case len(staying) > 0:
			return neverEmptyError(e.domains, staying)
		case len(left) == 0:
			return nil
		}
		select {
		case <-limited.Done():
			return e.timeoutError(timeout, left)
		case <-tick.C:
		}
		before := left
		if left, staying, err = e.look(limited); limited.Err() != nil {
			return e.timeoutError(timeout, before)
		}
	}
}

func (evictionWaiter) timeoutError(timeout time.Duration, left []string) error {
	return fmt.Errorf("timed out after %s waiting for failure domains to be empty: %s: see kubectl fd plan", timeout, strings.Join(left, "; "))
}

// neverEmptyError returns an error that states why failure domains will not become empty.
func neverEmptyError(domains []string, staying []report.Staying) error {
	lines := make([]string, 0, len(staying))
	for _, s := range staying {
		lines = append(lines, stays(s))
	}
	return errors.New("failure domain " + collect.List(domains) + " will not be empty: " + strings.Join(lines, "; "))
}
