// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"maps"
	"strings"
)

// Cost is what a manager did in some time.
type Cost struct {
	// Calls to the infrastructure, by method.
	Calls Counts
	// Requests to the Kubernetes API by verb and resource, as "patch pods/status".
	Requests Counts
	// Failed are those of them that were answered with an error, as "get pods 404".
	Failed Counts
	// Reconciles by controller.
	Reconciles Counts
	// CPU is in seconds, of user and system time, ServerCPU that of the API server.
	CPU, ServerCPU float64
}

// Minus is what was done since.
func (c Cost) Minus(before Cost) Cost { return c.combine(before, -1) }

// Plus adds up what was done in two spans of time.
func (c Cost) Plus(other Cost) Cost { return c.combine(other, 1) }

func (c Cost) combine(other Cost, sign int) Cost {
	return Cost{
		Calls: c.Calls.combine(other.Calls, sign), Requests: c.Requests.combine(other.Requests, sign),
		Failed: c.Failed.combine(other.Failed, sign), Reconciles: c.Reconciles.combine(other.Reconciles, sign),
		CPU: c.CPU + float64(sign)*other.CPU, ServerCPU: c.ServerCPU + float64(sign)*other.ServerCPU,
	}
}

// Work counts requests to the Kubernetes API but those that are listed apart.
func (c Cost) Work() int { return c.Requests.Sum(Except(IsApart)) }

// Counts has how often each of some things happened.
type Counts map[string]int

func (c Counts) combine(other Counts, sign int) Counts {
	total := Counts{}
	maps.Copy(total, c)
	for name, count := range other {
		total[name] += sign * count
	}
	maps.DeleteFunc(total, func(_ string, count int) bool { return count == 0 })
	return total
}

// Sum adds up what keep names.
func (c Counts) Sum(keep func(name string) bool) int {
	total := 0
	for name, count := range c {
		if keep(name) {
			total += count
		}
	}
	return total
}

// All keeps everything.
func All(string) bool { return true }

// IsApart reports what is listed apart from requests: how many of them
// there are depends on time and chance.
func IsApart(name string) bool {
	verb, resource, _ := strings.Cut(name, " ")
	return resource == "events" || resource == "leases" || verb == "watch"
}

// Except turns a rule around.
func Except(is func(string) bool) func(string) bool {
	return func(name string) bool { return !is(name) }
}
