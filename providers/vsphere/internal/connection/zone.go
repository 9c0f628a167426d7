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

// ForZone returns the session with which a deployment zone is to be judged, and whose account that is: the one of its own
// identityRef, else the manager's, else that of the oldest VSphereCluster that selects it. All clusters share the verdict,
// and another account may see less. So while the account cannot be used the zone is not judged at all; only an account of
// the manager's that the vCenter refuses, and that has never judged the zone, is taken for one of another vCenter.
func (d *Dialer) ForZone(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (*vcenter.Session, infrav1.ZoneAccount, error) {
	oldest, err := d.oldestOf(ctx, zone)
	if err != nil {
		return nil, "", err
	}
	if zone.Spec.IdentityRef != nil {
		session, err := d.withIdentity(ctx, zone)
		return session, infrav1.IdentityAccount, err
	}
	thumbprint := thumbprint(zone, oldest)
	session, err := d.asManager(zone, thumbprint)
	if err == nil || !passesOn(err, zone) {
		return session, infrav1.ManagerAccount, err
	}
	if oldest == nil {
		return nil, infrav1.ManagerAccount, fmt.Errorf("zone has no spec.identityRef, and no VSphereCluster selects it: %w", err)
	}
	session, err = d.asTenant(ctx, zone, oldest, thumbprint)
	return session, infrav1.ClusterAccount, err
}

// thumbprint is that of the zone, else that of a cluster on the same vCenter. With the manager's account a cluster that has
// no identityRef goes there as well. An identityRef's account goes only to a vCenter that the zone, or an authority, vouches
// for: a tenant shall not decide where it is shown.
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
	return d.judge(zone, infrav1.IdentityAccount, zone.Spec.Thumbprint, account, "")
}

func (d *Dialer) asManager(zone *infrav1.VSphereDeploymentZone, thumbprint string) (*vcenter.Session, error) {
	account, err := d.Identities.Default.Account()
	if err != nil {
		return nil, err
	}
	return d.judge(zone, infrav1.ManagerAccount, thumbprint, account, "")
}

func (d *Dialer) asTenant(ctx context.Context, zone *infrav1.VSphereDeploymentZone, tenant *infrav1.VSphereCluster, thumbprint string) (*vcenter.Session, error) {
	account, err := d.Identities.ForCluster(ctx, tenant)
	var session *vcenter.Session
	if err == nil {
		session, err = d.judge(zone, infrav1.ClusterAccount, thumbprint, account, tenant.Namespace)
	}
	if err != nil && Waits(err) {
		err = &tenantsError{err}
	}
	return session, err
}

// judge returns the session of an account on the zone's server, and notes that the zone has to know what becomes of it.
func (d *Dialer) judge(zone *infrav1.VSphereDeploymentZone, whose infrav1.ZoneAccount, thumbprint string, account identity.Account, tenant string) (*vcenter.Session, error) {
	own, err := endpoint(zone.Spec.Server, thumbprint, account)
	if err != nil {
		return nil, err
	}
	own.Tenant = tenant
	d.zones.note(client.ObjectKeyFromObject(zone), string(whose), own.Account())
	return d.Sessions.Session(own)
}

// passesOn reports whether the manager's account is none for this zone: there is none, or the vCenter does not know it.
func passesOn(err error, zone *infrav1.VSphereDeploymentZone) bool {
	if zone.Status.CheckedBy == infrav1.ManagerAccount {
		return errors.Is(err, fs.ErrNotExist)
	}
	return errors.Is(err, identity.ErrNotUsable) || errors.Is(err, vcenter.ErrUnauthorized)
}

// oldestOf is the oldest VSphereCluster that selects the zone, nil when there is none. Those that join do not change it.
func (d *Dialer) oldestOf(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (*infrav1.VSphereCluster, error) {
	all := &infrav1.VSphereClusterList{}
	if err := d.Client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil { // they are only looked at, but for the one that is returned
		return nil, fmt.Errorf("listing VSphereClusters: %w", err)
	}
	selecting := slices.DeleteFunc(all.Items, func(cluster infrav1.VSphereCluster) bool {
		return !cluster.DeletionTimestamp.IsZero() || !placement.Selects(&cluster, zone)
	})
	if len(selecting) == 0 {
		return nil, nil
	}
	oldest := slices.MinFunc(selecting, func(a, b infrav1.VSphereCluster) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return oldest.DeepCopy(), nil
}

// tenantsError keeps to itself which tenant's account cannot be used, and why: everybody may read a zone.
type tenantsError struct{ cause error }

func (e *tenantsError) Error() string {
	return "the account of the oldest VSphereCluster that selects this zone cannot be used; condition VCenterAvailable of that cluster " +
		"says why. Set spec.identityRef of the zone to check it with an account of its own"
}

func (e *tenantsError) Unwrap() error { return e.cause }
