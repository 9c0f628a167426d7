// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// attempts is the maximum number of hosts tried in one reconcile if other machines claim them first or the API server rejects the
// claims.
const attempts = 3

// prepare waits for the prerequisites of claiming a host. Until then the machine holds nothing that its deletion would have to
// release.
func (r *Reconciler) prepare(_ context.Context, s *scope) (reconcile.Progress, error) {
	switch {
	case s.host != nil:
	case s.infraCluster == nil:
		r.Hosts.Inventory.Forget(s.key())
		markUnassociated(s, infrav1.Metal3MachineWaitingForMetal3ClusterReason, "Waiting for the Metal3Cluster to exist")
		return reconcile.Wait, nil
	case !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false):
		r.Hosts.Inventory.Forget(s.key())
		markUnassociated(s, infrav1.Metal3MachineWaitingForClusterInfrastructureReadyReason, "Waiting for the Cluster's infrastructure to be provisioned")
		return reconcile.Wait, nil
	case s.machine.Spec.Bootstrap.DataSecretName == nil:
		r.Hosts.Inventory.Forget(s.key())
		markUnassociated(s, infrav1.Metal3MachineWaitingForBootstrapDataReason, "Waiting for the Machine to have bootstrap data")
		return reconcile.Wait, nil
	}
	s.infra.Spec.FailureDomain, _ = s.requestedDomain()
	controllerutil.AddFinalizer(s.infra, infrav1.MachineFinalizer)
	return reconcile.Proceed, nil
}

// associate ensures that the machine has a host, and records its failure domain.
func (r *Reconciler) associate(ctx context.Context, s *scope) (reconcile.Progress, error) {
	reason := infrav1.Metal3MachineAssociateBareMetalHostSuccessReason
	if s.host == nil {
		reused, p, err := r.findOrClaimHost(ctx, s)
		if err != nil || p != reconcile.Proceed {
			return p, err
		}
		if reused {
			reason = infrav1.Metal3MachineAssociateBareMetalHostViaNodeReuseSuccessReason
		}
	}
	if err := s.patch.Tolerate(r.Hosts.Adopt(ctx, s.host, s.infra.Name)); err != nil {
		return reconcile.Wait, err
	}
	setHostAnnotation(s, s.host.Name)
	s.infra.Status.FailureDomain = s.host.Labels[infrav1.FailureDomainLabel]
	if !conditions.IsTrue(s.infra, infrav1.Metal3MachineAssociateBareMetalHostCondition) {
		status.True(s.infra, infrav1.Metal3MachineAssociateBareMetalHostCondition, reason)
	}
	return reconcile.Proceed, nil
}

// findOrClaimHost returns the host that a machine without a known host has already tried to claim, or claims one.
func (r *Reconciler) findOrClaimHost(ctx context.Context, s *scope) (reused bool, _ reconcile.Progress, err error) {
	if name := hosts.Named(s.infra); name != "" {
		if s.host, err = r.Hosts.Recover(ctx, s.key(), name); err != nil || s.host != nil {
			return false, reconcile.Proceed, err
		}
		if s.mayRun() {
			markUnassociated(s, infrav1.Metal3MachineHostNotFoundReason, fmt.Sprintf(
				"BareMetalHost %s does not exist or has another consumer: delete the Machine", name))
			return false, reconcile.Wait, nil
		}
	}
	requirements, refusal := s.requirements()
	if refusal.Reason != "" {
		r.Hosts.Inventory.Forget(s.key()) // the machine may have asked for a different host before
		r.waitForHost(s, refusal)
		return false, reconcile.Wait, nil
	}
	return r.claimHost(ctx, s, requirements)
}

// mayRun reports whether the machine may be running on a host, or its data was rendered for one: then a new host requires a new
// Machine. The condition is set as soon as the host has been configured.
func (s *scope) mayRun() bool {
	return s.infra.Spec.ProviderID != "" || s.infra.Status.RenderedData != nil ||
		conditions.Has(s.infra, infrav1.Metal3MachineHostProvisionedCondition)
}

// requestedDomain returns the failure domain of the machine, even if the Metal3Cluster no longer exists. A refusal with a reason
// means that the machine must wait until it has one.
func (s *scope) requestedDomain() (domain string, wait distribution.Refusal) {
	cluster := s.infraCluster
	if cluster == nil {
		cluster = &infrav1.Metal3Cluster{}
	}
	return provider.RequestedDomain(cluster, s.machine, s.infra, placement.Metal3{}.Location(s.infra))
}

// assignmentGrace returns how long a new machine waits for its failure domain to be assigned.
func assignmentGrace(s *scope) time.Duration {
	_, wait := s.requestedDomain()
	return provider.AssignmentGrace(wait, s.infra, time.Now())
}

// requirements returns the requirements on the host. A refusal with a reason explains why the machine cannot ask for a host now.
func (s *scope) requirements() (hosts.Requirements, distribution.Refusal) {
	spec := &s.infra.Spec
	selector, err := hosts.Selector(spec.HostSelector)
	if err != nil {
		return hosts.Requirements{}, distribution.Refusal{Reason: infrav1.Metal3MachineInvalidHostSelectorReason, Message: err.Error()}
	}
	domain, refusal := s.requestedDomain()
	requirements := hosts.Requirements{
		Machine: s.key(), Cluster: s.cluster.Name, Since: s.infra.CreationTimestamp.Time, Selector: selector, Domain: domain,
		Preferred: spec.FailureDomainPolicy == infrav1.FailureDomainPreferred,
		Reuse:     s.reuse(), Random: spec.HostSelectionOrder == infrav1.HostSelectionRandom,
		Closed: placement.Closed(s.infraCluster),
	}
	if requirements.Domain != "" && refusal.Reason == "" && !requirements.Preferred {
		return requirements, placement.MayReceive(s.infraCluster, requirements.Domain)
	}
	return requirements, refusal
}

// claimHost claims a host. It first stores the host's name on the machine, together with the finalizer. If the reconcile stops
// between the two requests, the machine checks that host before it claims another.
func (r *Reconciler) claimHost(ctx context.Context, s *scope, requirements hosts.Requirements) (reused bool, _ reconcile.Progress, _ error) {
	for range attempts {
		chosen, why, found := r.Hosts.Reserve(requirements)
		switch {
		case !found && why.Refusal != "":
			r.waitForHost(s, distribution.Refusal{
				Reason: infrav1.Metal3MachineHostRefusedReason, Message: fmt.Sprintf("%s; no other host is free: %s", why.Refusal, why),
			})
			return false, reconcile.Retry(reconcile.RefusedPause), nil
		case !found:
			r.waitForHost(s, placement.Waiting(s.infraCluster, why))
			return false, reconcile.Wait, nil
		}
		setHostAnnotation(s, chosen.Name)
		if err := s.patch.StoreSpec(ctx, r.Client, s.infra); err != nil {
			r.Hosts.Inventory.Forget(s.key())
			if removed := (*patch.RemovedError)(nil); errors.As(err, &removed) {
				r.waitForHost(s, distribution.Refusal{Reason: infrav1.Metal3MachineAnnotationsRemovedReason, Message: "no host is claimed: " + removed.Error()})
				return false, reconcile.Retry(removed.Again()), nil
			}
			return false, reconcile.Wait, err
		}
		host, err := r.Hosts.Claim(ctx, chosen, s.claim(chosen.Domain))
		if errors.Is(err, hosts.ErrHostChanged) || errors.Is(err, hosts.ErrRefused) {
			continue
		}
		if host != nil {
			err = s.patch.Tolerate(err)
		}
		if err != nil {
			markUnassociated(s, infrav1.Metal3MachineAssociateBareMetalHostFailedReason, writeFailure(chosen.Name, err))
			return false, reconcile.Wait, err
		}
		s.host = host
		r.event(s, "Associated", "Associate", "Claimed BareMetalHost %s%s", chosen.Name, domainSuffix(chosen.Domain, requirements.Domain))
		return chosen.Reuse != "", reconcile.Proceed, nil
	}
	return false, reconcile.Wait, patch.ErrBehind
}

// claim omits the configuration of the host if its data must be rendered first.
func (s *scope) claim(domain string) hosts.Claim {
	claim := hosts.Claim{Machine: s.infra, Cluster: s.cluster.Name}
	if s.dataTemplate(domain) == nil {
		s.useGivenSecrets()
		claim.Config = s.config()
	}
	return claim
}

func domainSuffix(domain, requested string) string {
	switch {
	case domain == "" && requested == "":
		return ""
	case domain == requested || requested == "":
		return " in failure domain " + domain
	case domain == "":
		return fmt.Sprintf(" outside of failure domain %s, which is only preferred", requested)
	default:
		return fmt.Sprintf(" in failure domain %s instead of %s, which is only preferred", domain, requested)
	}
}

// waitForHost reports why the machine waits, in its condition and, if the reason is new, in an event. The counts in the message
// are as of the last time the machine was enqueued; claims and releases of other machines do not enqueue it.
func (r *Reconciler) waitForHost(s *scope, why distribution.Refusal) {
	if conditions.GetReason(s.infra, infrav1.Metal3MachineAssociateBareMetalHostCondition) != why.Reason {
		r.warn(s, why.Reason, "Associate", "%s", why.Message)
	}
	delete(s.infra.Annotations, infrav1.HostAnnotation) // the name of a host that another machine claimed first
	markUnassociated(s, why.Reason, why.Message)
}

func setHostAnnotation(s *scope, name string) {
	metav1.SetMetaDataAnnotation(&s.infra.ObjectMeta, infrav1.HostAnnotation, client.ObjectKey{Namespace: s.infra.Namespace, Name: name}.String())
}
