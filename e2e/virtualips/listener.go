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

// dialTimeout bounds connecting to an endpoint, because one without power refuses no connection.
const dialTimeout = time.Second

// listener forwards connections to any endpoint that answers.
type listener struct {
	net.Listener

	backends func(context.Context) ([]string, error)
}

// serve accepts connections until the listener is closed or ctx ends, and then closes all connections.
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
		open.Go(func() { l.forward(ctx, from) })
	}
}

// forward forwards a connection to an endpoint. It closes the connection if no endpoint answers.
func (l *listener) forward(ctx context.Context, from net.Conn) {
	defer func() { _ = from.Close() }()
	backends, err := l.backends(ctx)
	if err != nil {
		ctrl.Log.Error(err, "Failed to forward a connection to an endpoint")
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
