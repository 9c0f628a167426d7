// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// readTimeout is generous: those who ask are near.
const readTimeout = 10 * time.Second

// racks are what can be done to the simulator beside its API server.
type racks interface {
	LoseDomain(ctx context.Context, name string) error
	RestoreDomain(ctx context.Context, name string) error
}

// control makes a fault with PUT and mends it with DELETE:
//
//	/faults/domains/{domain}  the hosts of the failure domain have no power
func control(r racks) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /faults/domains/{domain}", answer(r.LoseDomain))
	mux.HandleFunc("DELETE /faults/domains/{domain}", answer(r.RestoreDomain))
	return mux
}

func answer(set func(context.Context, string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := set(r.Context(), r.PathValue("domain")); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// serve serves until the returned function is called; without an address it does not.
func serve(ctx context.Context, address string, handler http.Handler) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readTimeout}
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
