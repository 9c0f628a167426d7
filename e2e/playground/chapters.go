// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

// domainsReady waits until every domain is good by its own object and published
// for control planes.
func (s *story) domainsReady(ctx context.Context) error {
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		now, err := s.observe(ctx)
		if err != nil {
			return "", err
		}
		for _, domain := range now.Domains {
			if missing, err := s.domainIs(ctx, domain, true); missing != "" || err != nil {
				return missing, err
			}
		}
		return "", nil
	})
}

// domainIs says what is missing for a domain to be shown as good or as broken:
// both by what the Cluster publishes and by the domain's own object.
func (s *story) domainIs(ctx context.Context, domain Domain, good bool) (missing string, err error) {
	if domain.State == "" {
		return fmt.Sprintf("the Cluster publishes no failure domain %s", domain.Name), nil
	}
	if domain.ControlPlane != good {
		return fmt.Sprintf("failure domain %s is published as %s %s with controlPlane: %v", domain.Name, domain.State, domain.Reason, domain.ControlPlane), nil
	}
	if s.about.DomainKind == nil {
		return "", nil
	}
	ready, err := s.domainCondition(ctx, domain.Name)
	if err != nil {
		return "", err
	}
	if (ready.Status == metav1.ConditionTrue) != good {
		return fmt.Sprintf("%s %s has Ready=%s %s: %s", s.about.DomainKind.Kind, domain.Name, ready.Status, ready.Reason, ready.Message), nil
	}
	return "", nil
}

// domainCondition is the Ready condition of a domain's object.
func (s *story) domainCondition(ctx context.Context, name string) (metav1.Condition, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(*s.about.DomainKind)
	if err := s.management.Client.Get(ctx, client.ObjectKey{Name: name}, object); err != nil {
		return metav1.Condition{}, err
	}
	for _, condition := range conditionsOf(object) {
		if condition.Type == clusterv1.ReadyCondition {
			return condition, nil
		}
	}
	return metav1.Condition{Status: metav1.ConditionUnknown, Reason: "NotReported"}, nil
}

// clusterUp waits until Cluster API calls the cluster available with all its
// machines ready.
func (s *story) clusterUp(ctx context.Context) error {
	before := s.callsSoFar()
	err := provider.Until(ctx, func(ctx context.Context) (string, error) {
		return s.whole(ctx, "", clusterv1.ClusterAvailableCondition)
	})
	if err != nil {
		return err
	}
	s.calls = costs{machines: controlPlanes + workers, calls: difference(before, s.callsSoFar())}
	return nil
}

func (s *story) callsSoFar() map[string]int {
	if api, ok := s.infrastructure.(provider.Counter); ok {
		return api.Calls()
	}
	return nil
}

// whole says what is missing for the cluster to have all its machines, ready, and
// the conditions to be true. Machines in the domain called down, unless that is "",
// need not be ready.
func (s *story) whole(ctx context.Context, down string, conditions ...string) (missing string, err error) {
	var cluster clusterv1.Cluster
	if err := s.management.Client.Get(ctx, s.cluster, &cluster); err != nil {
		return "", err
	}
	now, err := s.observe(ctx)
	if err != nil {
		return "", err
	}
	if missing := complete(now, down); missing != "" {
		return missing, nil
	}
	for _, kind := range conditions {
		if !conditionIsTrue(cluster.Status.Conditions, kind) {
			return fmt.Sprintf("condition %s of Cluster %s", kind, s.cluster.Name), nil
		}
	}
	return "", nil
}

// checkSpread compares what the infrastructure says with what was asked for.
func (s *story) checkSpread(ctx context.Context) error {
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		now, err := s.observe(ctx)
		if err != nil {
			return "", err
		}
		if missing, err := spread(now, s.about.System); missing != "" || err != nil {
			return missing, err
		}
		s.landed = placementTable(now)
		s.reporter.note("where " + s.about.System + " has the machines:")
		for _, line := range s.landed {
			s.reporter.note(line)
		}
		return "", nil
	})
}

// breakDomain breaks the domain of a control-plane machine and waits until that
// is to be seen.
func (s *story) breakDomain(ctx context.Context) error {
	now, err := s.observe(ctx)
	if err != nil {
		return err
	}
	// The one in the middle has workers too, which must stay as they are.
	s.victim = now.in(roleControlPlane, s.about.Domains[len(s.about.Domains)/2])[0]
	what, err := s.infrastructure.Break(ctx, s.victim.Domain)
	if err != nil {
		return err
	}
	s.reporter.note(what)
	return s.seen(ctx, false)
}

// mendDomain undoes breakDomain and waits until that is to be seen.
func (s *story) mendDomain(ctx context.Context) error {
	what, err := s.infrastructure.Mend(ctx, s.victim.Domain)
	if err != nil {
		return err
	}
	s.reporter.note(what)
	if err := s.seen(ctx, true); err != nil {
		return err
	}
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		return s.whole(ctx, "", clusterv1.ClusterAvailableCondition)
	})
}

// seen waits until the victim's domain, and no other, is shown as good or broken.
func (s *story) seen(ctx context.Context, good bool) error {
	err := provider.Until(ctx, func(ctx context.Context) (string, error) {
		now, err := s.observe(ctx)
		if err != nil {
			return "", err
		}
		for _, domain := range now.Domains {
			want := good || domain.Name != s.victim.Domain
			if missing, err := s.domainIs(ctx, domain, want); missing != "" || err != nil {
				return missing, err
			}
		}
		return "", nil
	})
	if err != nil || s.about.DomainKind == nil {
		return err
	}
	ready, err := s.domainCondition(ctx, s.victim.Domain)
	if err != nil {
		return err
	}
	s.reporter.note(strings.TrimSuffix(fmt.Sprintf("%s %s: Ready=%s %s: %s", s.about.DomainKind.Kind, s.victim.Domain, ready.Status, ready.Reason, ready.Message), ": "))
	return nil
}

// replace deletes the victim and waits until the cluster is whole again, without
// anything new in the broken domain at any time.
func (s *story) replace(ctx context.Context) error {
	before, err := s.observe(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range before.Machines {
		known[m.Name] = true
	}
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.cluster.Namespace, Name: s.victim.Name}}
	if err := s.management.Client.Delete(ctx, machine); err != nil {
		return fmt.Errorf("deleting Machine %s: %w", s.victim.Name, err)
	}
	s.reporter.note("deleted Machine " + s.victim.Name)
	notes, err := s.infrastructure.Abandon(ctx, s.victim.Host)
	if err != nil {
		return fmt.Errorf("letting Machine %s go: %w", s.victim.Name, err)
	}
	for _, note := range notes {
		s.reporter.note(note)
	}
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		now, err := s.observe(ctx)
		if err != nil {
			return "", err
		}
		if missing, err := replaced(now, s.victim, known); missing != "" || err != nil {
			return missing, err
		}
		missing, err := s.wholeWithout(ctx, s.victim.Domain)
		if missing == "" && err == nil {
			s.noteReplacement(now, known)
		}
		return missing, err
	})
}

// wholeWithout is whole while a domain is broken. The Cluster as a whole is not
// Available then; nor are workers that stopped with the domain.
func (s *story) wholeWithout(ctx context.Context, domain string) (missing string, err error) {
	if s.about.BreakStops {
		return s.whole(ctx, domain, clusterv1.ClusterControlPlaneAvailableCondition)
	}
	return s.whole(ctx, "", clusterv1.ClusterControlPlaneAvailableCondition, clusterv1.ClusterWorkersAvailableCondition)
}

func (s *story) noteReplacement(now Snapshot, known map[string]bool) {
	for _, m := range now.Machines {
		if !known[m.Name] {
			s.heir = m
			s.reporter.note(fmt.Sprintf("its replacement %s is in %s, as %s says", m.Name, m.Domain, s.about.System))
		}
	}
}

// remove deletes the cluster, then what else was applied, and waits until nothing
// is left of either, in the infrastructure and in the API.
func (s *story) remove(ctx context.Context) error {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.cluster.Namespace, Name: s.cluster.Name}}
	if err := s.management.Client.Delete(ctx, cluster); err != nil {
		return fmt.Errorf("deleting Cluster %s: %w", s.cluster.Name, err)
	}
	err := provider.Until(ctx, func(ctx context.Context) (string, error) {
		if what, err := s.infrastructure.Remains(ctx); what != "" || err != nil {
			return what, err
		}
		err := s.management.Client.Get(ctx, s.cluster, cluster)
		if !apierrors.IsNotFound(err) {
			return "Cluster " + s.cluster.Name + " is still there", err
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	s.reporter.note("the Cluster is gone, and " + s.about.System + " has no machine of it")
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		if err := s.removeApplied(ctx); err != nil {
			return "", err
		}
		return s.nothingLeft(ctx)
	})
}

// removeApplied deletes what was applied, what depends on others first. What is
// refused because something that depends on it is still going is to be deleted
// again.
func (s *story) removeApplied(ctx context.Context) error {
	var refused []error
	for _, object := range slices.Backward(s.objects) {
		if err := s.management.Client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			refused = append(refused, fmt.Errorf("deleting %s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(refused...)
}

// nothingLeft names an object of Cluster API that is still there.
func (s *story) nothingLeft(ctx context.Context) (left string, err error) {
	objects, err := s.clusterAPIObjects(ctx)
	if err != nil || len(objects) == 0 {
		return "", err
	}
	return fmt.Sprintf("%s %s is still there", objects[0].GetKind(), objects[0].GetName()), nil
}
