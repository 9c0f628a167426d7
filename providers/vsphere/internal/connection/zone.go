// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/identity"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// ForZone returns the session with which to check a deployment zone, and the kind of its account: the account of the zone's
// identityRef, else the manager's, else that of the oldest VSphereCluster that selects the zone. All clusters share the result,
// and another account may see less. Therefore the zone is not checked while its account cannot be used. The exception is a
// manager's account that the vCenter rejects and that has never checked the zone: it is assumed to belong to another vCenter.
func (d *Dialer) ForZone(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (*vcenter.Session, infrav1.ZoneAccount, error) {
	oldest, err := d.oldestOf(ctx, zone)
	if err != nil {
		return nil, "", err
	}
	session, account, err := d.usable(ctx, zone, oldest)
	if err != nil {
		return nil, account, err
	}
	session, err = d.same(session, zone.Spec.Server, oldest)
	return session, account, err
}

// usable returns the session of the first usable account for a zone.
func (d *Dialer) usable(ctx context.Context, zone *infrav1.VSphereDeploymentZone, oldest *infrav1.VSphereCluster) (*vcenter.Session, infrav1.ZoneAccount, error) {
	if zone.Spec.IdentityRef != nil {
		session, err := d.withIdentity(ctx, zone)
		return session, infrav1.IdentityAccount, err
	}
	thumbprint := thumbprint(zone, oldest)
	session, err := d.asManager(zone, thumbprint)
	if err == nil || !managerAccountInapplicable(err, zone) {
		return session, infrav1.ManagerAccount, err
	}
	if oldest == nil {
		return nil, infrav1.ManagerAccount, fmt.Errorf("zone has no spec.identityRef, and no VSphereCluster selects it: %w", err)
	}
	session, err = d.asTenant(ctx, zone, oldest, thumbprint)
	return session, infrav1.ClusterAccount, err
}

// thumbprint returns the thumbprint of the zone, else that of a cluster on the same vCenter. The manager's account of a cluster
// without an identityRef is sent there as well. The account of an identityRef is sent only to a vCenter for which the zone or
// an authority vouches: a tenant must not decide where it is sent.
func thumbprint(zone *infrav1.VSphereDeploymentZone, oldest *infrav1.VSphereCluster) string {
	if zone.Spec.Thumbprint == "" && oldest != nil && infrav1.SameServer(oldest.Spec.Server, zone.Spec.Server) {
		return oldest.Spec.Thumbprint
	}
	return zone.Spec.Thumbprint
}

func (d *Dialer) withIdentity(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (*vcenter.Session, error) {
	account, err := d.Identities.ForZone(ctx, zone)
	if err != nil {
		return nil, err
	}
	return d.sessionAs(zone, infrav1.IdentityAccount, zone.Spec.Thumbprint, account, "")
}

func (d *Dialer) asManager(zone *infrav1.VSphereDeploymentZone, thumbprint string) (*vcenter.Session, error) {
	account, err := d.Identities.Default.Account()
	if err != nil {
		return nil, err
	}
	return d.sessionAs(zone, infrav1.ManagerAccount, thumbprint, account, "")
}

func (d *Dialer) asTenant(ctx context.Context, zone *infrav1.VSphereDeploymentZone, tenant *infrav1.VSphereCluster, thumbprint string) (*vcenter.Session, error) {
	account, err := d.Identities.ForCluster(ctx, tenant)
	var session *vcenter.Session
	if err == nil {
		session, err = d.sessionAs(zone, infrav1.ClusterAccount, thumbprint, account, tenant.Namespace)
	}
	if err != nil && Waits(err) {
		err = &tenantsError{cause: err, added: adds(tenant, zone) > 0}
	}
	return session, err
}

// sessionAs returns a session of the account on the zone's server, and records that the zone uses the account.
func (d *Dialer) sessionAs(zone *infrav1.VSphereDeploymentZone, whose infrav1.ZoneAccount, thumbprint string, account identity.Account, tenant string) (*vcenter.Session, error) {
	own, err := endpoint(zone.Spec.Server, thumbprint, account)
	if err != nil {
		return nil, err
	}
	own.Tenant = tenant
	d.zones.record(client.ObjectKeyFromObject(zone), string(whose), own.Account())
	return d.Sessions.Session(own)
}

// managerAccountInapplicable reports whether the manager's account does not apply to this zone: it is not configured, or the
// vCenter rejects it.
func managerAccountInapplicable(err error, zone *infrav1.VSphereDeploymentZone) bool {
	if zone.Status.CheckedBy == infrav1.ManagerAccount {
		return errors.Is(err, fs.ErrNotExist)
	}
	return errors.Is(err, identity.ErrNotUsable) || errors.Is(err, vcenter.ErrUnauthorized)
}

// oldestOf returns the oldest VSphereCluster that selects the zone, or nil. Clusters created later do not change it. Those with
// spec.server on the zone's vCenter precede those that add it.
func (d *Dialer) oldestOf(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (*infrav1.VSphereCluster, error) {
	all := &infrav1.VSphereClusterList{}
	if err := d.Client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil { // read-only; the result is copied
		return nil, fmt.Errorf("listing VSphereClusters: %w", err)
	}
	selecting := slices.DeleteFunc(all.Items, func(cluster infrav1.VSphereCluster) bool {
		return !cluster.DeletionTimestamp.IsZero() || !placement.Selects(&cluster, zone)
	})
	if len(selecting) == 0 {
		return nil, nil
	}
	oldest := slices.MinFunc(selecting, func(a, b infrav1.VSphereCluster) int {
		return cmp.Or(adds(&a, zone)-adds(&b, zone), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return oldest.DeepCopy(), nil
}

// adds returns 1 if the cluster has the zone's vCenter only in spec.additionalServers, else 0.
func adds(cluster *infrav1.VSphereCluster, zone *infrav1.VSphereDeploymentZone) int {
	if infrav1.SameServer(cluster.Spec.Server, zone.Spec.Server) {
		return 0
	}
	return 1
}

// tenantsError hides which tenant's account cannot be used, and why, because every user can read a zone.
type tenantsError struct {
	cause error
	added bool // the cluster has the vCenter only in spec.additionalServers
}

func (e *tenantsError) Error() string {
	of := "that cluster"
	if e.added {
		of = "this vCenter in status.servers of that cluster"
	}
	return "the account of the oldest VSphereCluster that selects this zone cannot be used; condition VCenterAvailable of " + of + " " +
		"shows the reason. Set spec.identityRef of the zone to check it with an account of its own"
}

func (e *tenantsError) Unwrap() error { return e.cause }
