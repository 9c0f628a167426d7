// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"

	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// controls serves GET /uuid, injects each of simulator.Faults on PUT and ends it on DELETE, for example /faults/lost-hosts/zone-a, or
// /faults/down?vcenter=2 for the second vCenter.
func controls(vcenters ...*simulator.Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /uuid", identities(func() (all []simulator.VM) {
		for _, vcenter := range vcenters {
			all = append(all, vcenter.VMs()...)
		}
		return all
	}))
	mux.HandleFunc("/faults/", func(w http.ResponseWriter, r *http.Request) {
		number, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("vcenter"), "1"))
		if err != nil || number < 1 || number > len(vcenters) {
			http.Error(w, fmt.Sprintf("vcenter must be a number from 1 to %d", len(vcenters)), http.StatusUnprocessableEntity)
			return
		}
		tool.Faults(vcenters[number-1].SetFault).ServeHTTP(w, r)
	})
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
