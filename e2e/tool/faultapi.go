// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// readTimeout is generous, because clients are local.
const readTimeout = 10 * time.Second

// most is the maximum number of arguments of a fault.
const most = 4

// SetFault injects the fault with a name, or ends it.
type SetFault func(ctx context.Context, name string, on bool, args ...string) error

// Faults injects a fault on PUT /faults/{name}/{argument}/... and ends it on DELETE. Both return 204, or 422 with the reason.
func Faults(set SetFault) http.Handler {
	mux := http.NewServeMux()
	path := "/faults/{name}"
	for n := range most + 1 {
		if n > 0 {
			path += "/{" + argument(n) + "}"
		}
		mux.HandleFunc("PUT "+path, answer(set, true, n))
		mux.HandleFunc("DELETE "+path, answer(set, false, n))
	}
	return mux
}

func argument(n int) string { return fmt.Sprintf("argument%d", n) }

func answer(set SetFault, on bool, arguments int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var args []string
		for n := range arguments {
			args = append(args, r.PathValue(argument(n+1)))
		}
		if err := set(r.Context(), r.PathValue("name"), on, args...); err != nil {
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
