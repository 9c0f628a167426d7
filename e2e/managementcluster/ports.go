// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"net"
	"strconv"

	"github.com/faultline-io/faultline/shared/ports"
)

// port returns a loopback port for a program of the cluster. The port is reserved until the cluster stops.
func (p *Cluster) port() (int, error) {
	reserved, err := ports.Reserve(1)
	if err != nil {
		return 0, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.reserved = append(p.reserved, reserved)
	return reserved.First, nil
}

// address returns the address of a port of the only host that programs of the cluster listen on.
func address(port int) string { return net.JoinHostPort(ports.Host, strconv.Itoa(port)) }
