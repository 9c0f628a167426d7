// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"

	"github.com/faultline-io/faultline/e2e/faultserver"
)

// racks are what can be done to the simulator beside its API server.
type racks interface {
	LoseDomain(ctx context.Context, name string) error
	RestoreDomain(ctx context.Context, name string) error
}

// faults are made with PUT and repaired with DELETE:
//
//	/faults/domains/{domain}  the hosts of the failure domain have no power
func faults(r racks) http.Handler {
	mux := http.NewServeMux()
	faultserver.Fault(func(request *http.Request, broken bool) error {
		do := r.RestoreDomain
		if broken {
			do = r.LoseDomain
		}
		return do(request.Context(), request.PathValue("domain"))
	}).Handle(mux, "/faults/domains/{domain}")
	return mux
}
