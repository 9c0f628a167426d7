// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// errChanged means that a server is another vCenter than before. An event follows when it is the former one again.
var errChanged = errors.New("the vCenter has changed")

// vcenters holds the instance UUID of each server, by address.
type vcenters struct {
	mu    sync.Mutex
	known map[string]string
}

// check returns an error if a server was another vCenter before than now. recorded is what the status of the asking cluster has, or "": it
// survives a restart of the manager, and counts for this cluster only.
func (v *vcenters) check(server, now, recorded string) error {
	address := infrav1.ServerAddress(server)
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := cmp.Or(recorded, v.known[address], now); known != now {
		return fmt.Errorf("%w: server %s has instance UUID %s and not %s as before. If that name leads to several vCenters, for example through a load balancer, "+
			"use the name of each vCenter in VSphereClusters and VSphereDeploymentZones. If the vCenter was installed again, remove its instanceUUID from "+
			"status.servers of the VSphereClusters, then restart the manager", errChanged, server, now, known)
	}
	if v.known == nil {
		v.known = map[string]string{}
	}
	v.known[address] = now
	return nil
}

// forget drops a server.
func (v *vcenters) forget(server string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, infrav1.ServerAddress(server))
}

// ForgetServer drops the state of a server without sessions.
func (d *Dialer) ForgetServer(server string) { d.vcenters.forget(server) }

// same returns the session if its server is the same vCenter as before. On another one, a machine would look like one that was deleted, or
// that was never cloned. cluster may be nil.
func (d *Dialer) same(session *vcenter.Session, server string, cluster *infrav1.VSphereCluster) (*vcenter.Session, error) {
	recorded := ""
	if cluster != nil {
		recorded = knownUUID(cluster, server)
	}
	if err := d.vcenters.check(server, session.InstanceUUID(), recorded); err != nil {
		return nil, err
	}
	return session, nil
}

// knownUUID returns the instance UUID that the cluster's status has for a server, or "".
func knownUUID(cluster *infrav1.VSphereCluster, server string) string {
	for i := range cluster.Status.Servers {
		if infrav1.SameServer(cluster.Status.Servers[i].Server, server) {
			return cluster.Status.Servers[i].InstanceUUID
		}
	}
	return ""
}
