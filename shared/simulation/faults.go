// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"net/http"
	"time"

	"github.com/faultline-io/faultline/shared/faults"
)

// ProxyFault is a way in which an API server breaks a rule on which its clients would like to rely.
type ProxyFault = faults.Fault[*Faults, struct{}, struct{}]

const (
	// lateBy is the delay of the watches of a lagging API server, shortly is the maximum duration of watches that are cut.
	lateBy, shortly = 2 * time.Second, 10 * time.Second
	// some is the proportion of requests that are affected.
	some = 0.1
)

// ProxyFaults returns all faults. To add a fault, add an entry.
func ProxyFaults() []ProxyFault {
	return []ProxyFault{
		{
			Name: "lagging", Is: "watches bring changes seconds late", Breaks: "A client that has written finds in its cache what it has written.",
			Set: set(func(o *Faults, on bool) { o.Lag(whole(on, lateBy)) }),
		},
		{
			Name: "busy", Is: "a tenth of the requests is refused with 429", Breaks: "A request is done.",
			Set: set(func(o *Faults, on bool) { o.Refuse(http.StatusTooManyRequests, whole(on, some)) }),
		},
		{
			Name: "failing", Is: "a tenth of the requests is refused with 500 or 504, and a tenth of the changes is made and answered with 504",
			Breaks: "A change that is answered with an error has not been made.",
			Set: set(func(o *Faults, on bool) {
				o.Refuse(http.StatusInternalServerError, whole(on, some/2))
				o.Refuse(http.StatusGatewayTimeout, whole(on, some/2))
				o.TimeOut(whole(on, some))
			}),
		},
		{
			Name: "cutting", Is: "watches end after seconds", Breaks: "A watch brings every change.",
			Set: set(func(o *Faults, on bool) {
				o.Shorten(whole(on, shortly))
				o.Cut()
			}),
		},
		{
			Name: "conflicting", Is: "a tenth of the updates and patches conflicts", Breaks: "An object that only one client writes has no conflicts.",
			Set: set(func(o *Faults, on bool) { o.Conflict(AnyResource, whole(on, some)) }),
		},
	}
}

// whole returns the value if a fault is on, otherwise 0.
func whole[T time.Duration | float64](on bool, value T) T {
	if !on {
		return 0
	}
	return value
}

func set(do func(o *Faults, on bool)) func(context.Context, *Faults, bool, ...string) error {
	return func(_ context.Context, o *Faults, on bool, _ ...string) error {
		do(o, on)
		return nil
	}
}
