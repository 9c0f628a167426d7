// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"net"
	"strconv"
	"sync"
)

// Ports are taken from below the range that systems use for outgoing connections:
// a port of that range may be gone between finding and using it.
const (
	firstPort = 21000
	lastPort  = 29999
)

// ports hands out free ports of the loopback address, each at most once.
type ports struct {
	mutex sync.Mutex
	next  int
}

func newPorts(seed int) *ports { return &ports{next: firstPort + seed%(lastPort-firstPort)} }

// take answers a port that nobody listens on.
func (p *ports) take() (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for range lastPort - firstPort {
		port := p.next
		if p.next++; p.next > lastPort {
			p.next = firstPort
		}
		//nolint:noctx // Listening on a local port does not wait.
		listener, err := net.Listen("tcp", address(port))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.New("finding a free port: none between " + strconv.Itoa(firstPort) + " and " + strconv.Itoa(lastPort))
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
