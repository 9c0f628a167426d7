// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// readTimeout is generous: those who ask are in the same process's machines.
const readTimeout = 10 * time.Second

// identities answers GET /uuid with the UUID of the virtual machine that asks, known
// by its address. A machine reads it from its firmware, which a container does not
// have.
func identities(machines func() []simulator.VM) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /uuid", func(w http.ResponseWriter, r *http.Request) {
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
	})
	return mux
}

// serveIdentities serves until ctx ends.
func serveIdentities(ctx context.Context, address string, machines func() []simulator.VM) (stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: identities(machines), ReadHeaderTimeout: readTimeout}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	}()
	return func() {
		_ = server.Close()
		<-done
	}, nil
}
