// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualips

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// dialTimeout is how long an endpoint may take to answer: one that has lost its power refuses nothing.
const dialTimeout = time.Second

// listener leads connections to whichever endpoint answers.
type listener struct {
	net.Listener

	backends func(context.Context) ([]string, error)
}

// serve accepts until the listener is closed, and ends all connections then, or with ctx.
func (l *listener) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		open.Go(func() { l.lead(ctx, from) })
	}
}

// lead joins a connection to one with an endpoint. Without an endpoint that answers it ends.
func (l *listener) lead(ctx context.Context, from net.Conn) {
	defer func() { _ = from.Close() }()
	backends, err := l.backends(ctx)
	if err != nil {
		ctrl.Log.Error(err, "Leading a connection to an endpoint")
		return
	}
	to := dial(ctx, backends)
	if to == nil {
		return
	}
	defer func() { _ = to.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = from.Close(), to.Close() })()
	join(from, to)
}

func dial(ctx context.Context, backends []string) net.Conn {
	dialer := net.Dialer{Timeout: dialTimeout}
	for _, backend := range backends {
		if connection, err := dialer.DialContext(ctx, "tcp", backend); err == nil {
			return connection
		}
	}
	return nil
}

// join copies both ways until one side has ended.
func join(a, b net.Conn) {
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_, _ = way[0].Close(), way[1].Close()
			ended <- struct{}{}
		}()
	}
	<-ended
	<-ended
}
