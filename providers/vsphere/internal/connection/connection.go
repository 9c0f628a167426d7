// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connection returns the vCenter session for an object, and reports in a condition why no session is available. Its EventHub
// delivers vCenter's events to controllers.
package connection

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/identity"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/text"
)

// Sessions is the part of vcenter.Pool that a Dialer needs.
type Sessions interface {
	Session(vcenter.Endpoint) (*vcenter.Session, error)
}

// Dialer returns sessions. It never waits for a vCenter: see vcenter.Pool.Session.
type Dialer struct {
	Client     client.Reader
	Identities *identity.Resolver
	Sessions   Sessions

	clusters, zones users
	vcenters        vcenters
}

// ClustersOf returns the VSphereClusters that use an account, for themselves or for their machines.
func (d *Dialer) ClustersOf(account string) []client.ObjectKey { return d.clusters.of(account) }

// ZonesOf returns the deployment zones that are checked with an account.
func (d *Dialer) ZonesOf(account string) []client.ObjectKey { return d.zones.of(account) }

// ForgetCluster drops the state of a deleted VSphereCluster.
func (d *Dialer) ForgetCluster(key client.ObjectKey) { d.clusters.forget(key) }

// ForgetZone drops the state of a deleted deployment zone.
func (d *Dialer) ForgetZone(key client.ObjectKey) { d.zones.forget(key) }

// ForCluster returns a session on the cluster's server.
func (d *Dialer) ForCluster(ctx context.Context, cluster *infrav1.VSphereCluster) (*vcenter.Session, error) {
	account, err := d.Identities.ForCluster(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if err := account.Pinned(cluster.Spec.Server, cluster.Spec.Thumbprint); err != nil {
		return nil, err
	}
	return d.open(cluster, cluster.Spec.Server, cluster.Spec.Server, cluster.Spec.Thumbprint, account)
}

// ForVM returns a session on the server of a virtual machine, which can differ from the cluster's.
func (d *Dialer) ForVM(ctx context.Context, cluster *infrav1.VSphereCluster, vm *infrav1.VSphereVM) (*vcenter.Session, error) {
	zone, err := d.zoneOf(ctx, vm)
	if err != nil {
		return nil, err
	}
	return d.forMachines(ctx, cluster, zone, vm.Spec.Server, vm.Spec.Thumbprint)
}

// forMachines returns a session for the cluster's machines on a server. own is the thumbprint of a machine, if any.
func (d *Dialer) forMachines(ctx context.Context, cluster *infrav1.VSphereCluster, zone *infrav1.VSphereDeploymentZone, server, own string) (*vcenter.Session, error) {
	account, why, err := d.accountFor(ctx, cluster, zone, server)
	if err != nil {
		return nil, err
	}
	thumbprint := placement.Thumbprint(server, cluster, zone, own)
	if zone == nil || thumbprint != zone.Spec.Thumbprint { // zones are created by administrators, not by tenants
		if err := account.Pinned(server, thumbprint); err != nil {
			return nil, err
		}
	}
	return d.open(cluster, why, server, thumbprint, account)
}

// accountFor returns the cluster's account. For a server other than the cluster's, the account of the zone's identityRef takes
// precedence if the cluster's namespace may use it.
func (d *Dialer) accountFor(ctx context.Context, cluster *infrav1.VSphereCluster, zone *infrav1.VSphereDeploymentZone, server string) (
	account identity.Account, why string, err error,
) {
	if zone != nil && infrav1.SameServer(zone.Spec.Server, server) && !infrav1.SameServer(cluster.Spec.Server, server) {
		account, found, err := d.Identities.ForMachines(ctx, zone, cluster.Namespace)
		if err != nil || found {
			return account, server + " by " + zone.Name, err
		}
	}
	account, err = d.Identities.ForCluster(ctx, cluster)
	return account, server, err
}

// zoneOf returns the deployment zone in which a virtual machine was placed, or nil if it has no zone or the zone was deleted.
func (d *Dialer) zoneOf(ctx context.Context, vm *infrav1.VSphereVM) (*infrav1.VSphereDeploymentZone, error) {
	name := vm.Spec.Placement.FailureDomain
	if name == "" {
		return nil, nil
	}
	zone := &infrav1.VSphereDeploymentZone{}
	if err := d.Client.Get(ctx, client.ObjectKey{Name: name}, zone); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading VSphereDeploymentZone %s: %w", name, err)
	}
	return zone, nil
}

// open returns a session, and records that the cluster uses the account.
func (d *Dialer) open(cluster *infrav1.VSphereCluster, why, server, thumbprint string, account identity.Account) (*vcenter.Session, error) {
	endpoint, err := endpoint(server, thumbprint, account)
	if err != nil {
		return nil, err
	}
	endpoint.Tenant = cluster.Namespace
	d.clusters.record(client.ObjectKeyFromObject(cluster), why, endpoint.Account())
	session, err := d.Sessions.Session(endpoint)
	if err != nil {
		return nil, err
	}
	return d.same(session, server, cluster)
}

// endpoint returns the endpoint of the account on the server, if the account may be sent there. All spellings of a server share
// sessions.
func endpoint(server, thumbprint string, account identity.Account) (vcenter.Endpoint, error) {
	address := infrav1.ServerAddress(server)
	if address == "" && server != "" {
		return vcenter.Endpoint{}, fmt.Errorf("%w: %q is not the host, or host:port, of a vCenter: correct spec.server", vcenter.ErrUnreachable, server)
	}
	return vcenter.Endpoint{Server: address, Thumbprint: thumbprint, Username: account.Username, Password: account.Password}, account.For(server)
}

// longest is the length at which a message is cut. A status has many: of each server and of each zone.
const longest = 4096

// Condition returns the VCenterAvailable condition that reports whether there is a session. Its message is normalized, because
// not only conditions of objects show it.
func Condition(err error) metav1.Condition {
	condition := metav1.Condition{Type: infrav1.VSphereClusterVCenterAvailableCondition, Status: metav1.ConditionTrue, Reason: infrav1.VSphereClusterVCenterAvailableReason}
	if err == nil {
		return condition
	}
	condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason(err), Bounded(err.Error())
	if condition.Reason == infrav1.VCenterConnectingReason {
		condition.Status = metav1.ConditionUnknown
	}
	return condition
}

// Bounded returns a message of a server or a zone as it may be written into the status.
func Bounded(message string) string { return text.Truncate(text.Steady(message), longest) }

func reason(err error) string {
	switch {
	case errors.Is(err, errChanged):
		return infrav1.VCenterChangedReason
	case errors.Is(err, vcenter.ErrUnauthorized), errors.Is(err, identity.ErrNotUsable):
		return infrav1.CredentialsInvalidReason
	case errors.Is(err, vcenter.ErrTooMany):
		return infrav1.TooManySessionsReason
	case errors.Is(err, vcenter.ErrThumbprint):
		return infrav1.ThumbprintMismatchReason
	case errors.Is(err, vcenter.ErrUntrusted):
		return infrav1.CertificateNotTrustedReason
	case errors.Is(err, vcenter.ErrConnecting):
		return infrav1.VCenterConnectingReason
	default:
		return infrav1.VCenterUnreachableReason
	}
}

// Waits reports whether an event follows when err is resolved: vCenter becomes available again, or the user fixes an identity.
// Other errors are failures of the API server, after which the reconcile must be retried.
func Waits(err error) bool {
	return vcenter.NoSession(err) || errors.Is(err, identity.ErrNotUsable) || errors.Is(err, errChanged)
}

// retryInterval is the retry interval for an account that vCenter rejects: see vcenter.Pool.Session. The account may have been
// unlocked, which no event reports; a shorter interval would lock it, as five failures in three minutes do. It is also the
// interval to check whether a namespace with too many sessions has fewer: a session ends when it was not requested for a while.
const retryInterval = 2 * time.Minute

// RetryAfter returns when to request a session again if no event follows, or 0 if one does.
func RetryAfter(err error) time.Duration {
	if errors.Is(err, vcenter.ErrUnauthorized) || errors.Is(err, vcenter.ErrTooMany) {
		return retryInterval
	}
	return 0
}
