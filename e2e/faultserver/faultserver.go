// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faultserver lets simulators be broken and repaired over HTTP, beside the API that they simulate.
package faultserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// readTimeout is generous: those who ask are near.
const readTimeout = 10 * time.Second

// Fault makes what a request names broken, or repairs it.
type Fault func(r *http.Request, broken bool) error

// Handle makes the fault with PUT and repairs it with DELETE. Both answer 204, or 422 and the reason.
func (f Fault) Handle(mux *http.ServeMux, path string) {
	mux.HandleFunc("PUT "+path, f.answer(true))
	mux.HandleFunc("DELETE "+path, f.answer(false))
}

func (f Fault) answer(broken bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := f(r, broken); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// Serve serves until the returned function is called; without an address it does not.
func Serve(ctx context.Context, address string, handler http.Handler) (stop func(), err error) {
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
