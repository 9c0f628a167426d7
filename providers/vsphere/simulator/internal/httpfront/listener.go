// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpfront

import (
	"maps"
	"net"
	"slices"
	"sync"
)

// listener keeps its port while the server is down, so that no other process can take it: new connections are reset at once.
type listener struct {
	net.Listener

	mu    sync.Mutex
	down  bool
	conns map[*conn]struct{}
}

func listen(address string) (*listener, error) {
	l, err := net.Listen("tcp", address) //nolint:noctx // The listener lives as long as the server, not as long as a call.
	if err != nil {
		return nil, err
	}
	return &listener{Listener: l, conns: map[*conn]struct{}{}}, nil
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, ok := l.admit(raw); ok {
			return c, nil
		}
		reset(raw)
	}
}

func (l *listener) admit(raw net.Conn) (*conn, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, false
	}
	c := &conn{Conn: raw, listener: l}
	l.conns[c] = struct{}{}
	return c, true
}

// setDown refuses new connections and resets open ones.
func (l *listener) setDown(down bool) {
	l.mu.Lock()
	l.down = down
	l.mu.Unlock()
	if down {
		l.resetAll()
	}
}

// resetAll resets all open connections.
func (l *listener) resetAll() {
	l.mu.Lock()
	open := slices.Collect(maps.Keys(l.conns))
	l.mu.Unlock()
	for _, c := range open {
		reset(c)
	}
}

func (l *listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

type conn struct {
	net.Conn
	listener *listener
}

func (c *conn) Close() error {
	c.listener.forget(c)
	return c.Conn.Close()
}

// reset closes a connection without the FIN handshake, like a machine that has lost power.
func reset(c net.Conn) {
	raw := c
	if own, ok := c.(*conn); ok {
		raw = own.Conn
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
