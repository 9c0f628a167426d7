// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// controlPort is where the simulated vCenter is controlled.
const controlPort = "8990"

// Faults of the simulated vCenter that SetFault makes and mends.
const (
	// ServerDown is a vCenter that does not answer.
	ServerDown = "server"
)

// DatastoreGone is a datastore that has been taken away: nothing new can be put there.
func DatastoreGone(datacenter, name string) string { return "datastores/" + datacenter + "/" + name }

// HostsDisconnected are the hosts of a compute cluster that vCenter has lost.
func HostsDisconnected(cluster string) string { return "hosts/" + cluster }

// SetFault makes a fault of the simulated vCenter, or mends it.
func (e *Environment) SetFault(ctx context.Context, fault string, present bool) error {
	host, _, err := net.SplitHostPort(e.found.variables["VSPHERE_SERVER"])
	if err != nil {
		return errors.New("the environment is not up")
	}
	return setFault(ctx, "http://"+net.JoinHostPort(host, controlPort), fault, present)
}

func setFault(ctx context.Context, url, fault string, present bool) error {
	method := http.MethodDelete
	if present {
		method = http.MethodPut
	}
	request, err := http.NewRequestWithContext(ctx, method, url+"/faults/"+fault, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("reaching the simulated vCenter: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	said, err := io.ReadAll(response.Body)
	return errors.Join(fmt.Errorf("setting fault %s: %s: %s", fault, response.Status, strings.TrimSpace(string(said))), err)
}
