// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/faultline-io/faultline/e2e/faultserver"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// vcenter is what can be asked of the simulator, or done to it, beside its own API.
type vcenter interface {
	VMs() []simulator.VM
	SetDown(down bool)
	RemoveDatastore(datacenter, name string) error
	RestoreDatastore(datacenter, name string) error
	DisconnectHosts(cluster string, hosts ...string) error
	ReconnectHosts(cluster string, hosts ...string) error
}

// asides answers GET /uuid, and makes a fault with PUT and repairs it with DELETE:
//
//	/faults/server                        vCenter does not answer
//	/faults/datastores/{datacenter}/{name} the datastore is gone
//	/faults/hosts/{cluster}               the hosts of the compute cluster are disconnected
func asides(v vcenter) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /uuid", identities(v.VMs))
	faults := map[string]faultserver.Fault{
		"/faults/server": func(_ *http.Request, on bool) error {
			v.SetDown(on)
			return nil
		},
		"/faults/datastores/{datacenter}/{name}": func(r *http.Request, on bool) error {
			do := v.RestoreDatastore
			if on {
				do = v.RemoveDatastore
			}
			return do(r.PathValue("datacenter"), r.PathValue("name"))
		},
		"/faults/hosts/{cluster}": func(r *http.Request, on bool) error {
			do := v.ReconnectHosts
			if on {
				do = v.DisconnectHosts
			}
			return do(r.PathValue("cluster"))
		},
	}
	for path, fault := range faults {
		fault.Handle(mux, path)
	}
	return mux
}

// identities answers with the UUID of the virtual machine that asks, known by its
// address. A machine reads it from its firmware, which a container does not have.
func identities(machines func() []simulator.VM) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, vm := range machines() {
			if slices.Contains(vm.IPs, host) {
				_, _ = fmt.Fprint(w, vm.UUID)
				return
			}
		}
		http.Error(w, "no machine reports the address "+host, http.StatusNotFound)
	}
}
