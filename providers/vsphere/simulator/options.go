// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "time"

// Option adjusts a Server before it starts.
type Option func(*options)

type options struct {
	listen             string
	username, password string
	guestDelay         time.Duration
	stockPolicies      bool
	stockCollector     bool
	silentRecentTasks  bool
	silentTags         bool
	version            string
	begin              []func(*Server) error // faults that it has from the start
}

func defaults() options {
	return options{
		listen:   "127.0.0.1:0",
		username: "administrator@vsphere.local",
		password: "simulator",
	}
}

func gather(opts []Option) options {
	o := defaults()
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithListen listens on the address, such as "172.18.0.1:8989". The default is
// a free port of 127.0.0.1.
func WithListen(address string) Option {
	return func(o *options) { o.listen = address }
}

// WithCredentials sets the only account.
func WithCredentials(username, password string) Option {
	return func(o *options) { o.username, o.password = username, password }
}

// WithVersion makes it a vCenter of another version than vcsim's own, 6.5.0.
func WithVersion(version string) Option {
	return func(o *options) { o.version = version }
}

// WithGuestDelay sets how long a guest boots: the time from power on to running
// tools and addresses. The default is at once.
func WithGuestDelay(d time.Duration) Option {
	return func(o *options) { o.guestDelay = d }
}

// WithStockPolicies serves vcsim's own storage policy API (PBM), with vcsim's policies
// in place of the layout's: all of them fit every datastore. It keeps its state in
// package variables, so at most one server of a process that runs under the race
// detector should ask for it.
func WithStockPolicies() Option {
	return func(o *options) { o.stockPolicies = true }
}

// WithStockCollector leaves vcsim's own property collector, and its history of
// tasks, in place. The former reads the whole inventory again for every single
// change, tells of no change that vcsim makes in silence, and takes its locks in an
// order that not every client survives: a vCenter that is less obliging than ours.
// Both read what others are changing, so Start skips such tests under the race
// detector.
func WithStockCollector() Option {
	return func(o *options) { o.stockCollector = true }
}

// WithSilentRecentTasks keeps changes of recentTask, of the task manager and of
// entities, to the server, as vCenter may: its API reference has clients read that
// property, and promises no update of it. vcsim's own collector knows no silence.
func WithSilentRecentTasks() Option {
	return func(o *options) { o.silentRecentTasks = true }
}

// WithSilentTags keeps vCenter from writing events of tags that are attached to objects or taken off them.
func WithSilentTags() Option {
	return func(o *options) { o.silentTags = true }
}
