// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	faultPath = "/faults/"
	// readTimeout is generous, because clients are local.
	readTimeout = 10 * time.Second
)

// SetFault injects the fault with a name, or ends it.
type SetFault func(ctx context.Context, name string, on bool, args ...string) error

// Faults injects a fault on PUT /faults/{name}/{argument}/... and ends it on DELETE. Both return 204, or 422 with the reason.
func Faults(set SetFault) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT "+faultPath, answer(set, true))
	mux.HandleFunc("DELETE "+faultPath, answer(set, false))
	return mux
}

func answer(set SetFault, on bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		words := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), faultPath), "/")
		for i, word := range words {
			words[i], _ = url.PathUnescape(word) // The server has parsed the path.
		}
		if err := set(r.Context(), words[0], on, words[1:]...); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// Serve serves until the returned function is called. Without an address it does nothing.
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
