// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// controls serves GET /uuid, injects each of simulator.Faults on PUT and ends it on DELETE, for example /faults/lost-hosts/zone-a.
func controls(vcenter *simulator.Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /uuid", identities(vcenter.VMs))
	tool.HandleFaults(mux, vcenter.SetFault)
	return mux
}

// identities returns the UUID of the requesting virtual machine, identified by its address. A machine would read it from its firmware,
// which a container does not have.
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
