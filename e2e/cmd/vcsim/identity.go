// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// readTimeout is generous: those who ask are in the same process's machines.
const readTimeout = 10 * time.Second

// identities answers GET /uuid/<name of a virtual machine>. A machine reads its UUID
// from its firmware, which a container does not have.
func identities(machines func() []simulator.VM) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /uuid/{name}", func(w http.ResponseWriter, r *http.Request) {
		var found []string
		for _, vm := range machines() {
			if vm.Name == r.PathValue("name") {
				found = append(found, vm.UUID)
			}
		}
		switch len(found) {
		case 0:
			http.NotFound(w, r)
		case 1:
			_, _ = fmt.Fprint(w, found[0])
		default:
			http.Error(w, "several machines have this name", http.StatusConflict)
		}
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
