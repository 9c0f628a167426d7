// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "time"

// Option configures a Server.
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
	faults             []func(*Server) error // faults that are set from the start
}

func defaultOptions() options {
	return options{
		listen:   "127.0.0.1:0",
		username: "administrator@vsphere.local",
		password: "simulator",
	}
}

func newOptions(opts []Option) options {
	o := defaultOptions()
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithListen listens on the address, such as "172.18.0.1:8989". The default is a free port on 127.0.0.1.
func WithListen(address string) Option {
	return func(o *options) { o.listen = address }
}

// WithCredentials sets the only account.
func WithCredentials(username, password string) Option {
	return func(o *options) { o.username, o.password = username, password }
}

// WithVersion sets a version other than vcsim's own, 6.5.0.
func WithVersion(version string) Option {
	return func(o *options) { o.version = version }
}

// WithGuestDelay sets the boot time of guests: from power on to running tools and addresses. The default is zero.
func WithGuestDelay(d time.Duration) Option {
	return func(o *options) { o.guestDelay = d }
}

// WithStockPolicies serves vcsim's own storage policy API (PBM), with vcsim's policies in place of the layout's: all of them are
// compatible with every datastore. It keeps its state in package variables, so at most one server of a process should use it
// under the race detector.
func WithStockPolicies() Option {
	return func(o *options) { o.stockPolicies = true }
}

// WithStockCollector keeps vcsim's own property collector and task history. The collector reads the whole inventory again for
// every single change, does not report changes that vcsim makes without notification, and acquires its locks in an order that can
// deadlock some clients: it is a vCenter with weaker guarantees than ours. Both read data while it is being changed, so Start
// skips such tests under the race detector.
func WithStockCollector() Option {
	return func(o *options) { o.stockCollector = true }
}

// WithSilentRecentTasks does not report changes of recentTask, of the task manager and of entities, as vCenter may: its API
// reference documents the property, but promises no updates of it. It has no effect on vcsim's own collector.
func WithSilentRecentTasks() Option {
	return func(o *options) { o.silentRecentTasks = true }
}

// WithSilentTags disables vCenter's events for attached and detached tags.
func WithSilentTags() Option {
	return func(o *options) { o.silentTags = true }
}
