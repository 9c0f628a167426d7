// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// Offsets in a message.
const (
	operation   = 0
	hardwareLen = 2
	offeredAt   = 16
	hardwareAt  = 28
	hardwareMax = 16
	cookieAt    = 236
	optionsAt   = 240
)

const (
	asks, answers = 1, 2
	cookie        = 0x63825363
)

// Options, and the message types of one of them.
const (
	optionMask, optionLease, optionType, optionServer, optionEnd = 1, 51, 53, 54, 255

	discover, offer, request, acknowledge = 1, 2, 3, 5
)

// leaseSeconds is longer than any test.
const leaseSeconds = 24 * 3600

// dhcpServer assigns addresses.
type dhcpServer struct {
	// Own is the server's address, and Network the network of its clients.
	Own     netip.Addr
	Network netip.Prefix
	// Free addresses are assigned in order.
	Free []netip.Addr

	mu    sync.Mutex
	given map[string]netip.Addr // by MAC address
}

// Serve serves until the connection is closed.
func (s *dhcpServer) Serve(on net.PacketConn) {
	const largest = 1500
	message := make([]byte, largest)
	everybody := &net.UDPAddr{IP: net.IPv4bcast, Port: 68}
	for {
		n, _, err := on.ReadFrom(message)
		if err != nil {
			return
		}
		if answer := s.answer(message[:n]); answer != nil {
			_, _ = on.WriteTo(answer, everybody) // A client without an answer retries.
		}
	}
}

// answer returns the server's answer, or nil.
func (s *dhcpServer) answer(message []byte) []byte {
	if len(message) < optionsAt || message[operation] != asks || message[hardwareLen] > hardwareMax ||
		binary.BigEndian.Uint32(message[cookieAt:]) != cookie {
		return nil
	}
	says, ok := map[byte]byte{discover: offer, request: acknowledge}[typeOf(message[optionsAt:])]
	if !ok {
		return nil
	}
	address, ok := s.give(string(message[hardwareAt : hardwareAt+int(message[hardwareLen])]))
	if !ok {
		return nil
	}
	answer := append([]byte(nil), message[:optionsAt]...)
	answer[operation] = answers
	copy(answer[offeredAt:], address.AsSlice())
	answer = append(answer, optionType, 1, says)
	answer = append(append(answer, optionServer, 4), s.Own.AsSlice()...)
	answer = append(append(answer, optionMask, 4), net.CIDRMask(s.Network.Bits(), s.Network.Addr().BitLen())...)
	answer = binary.BigEndian.AppendUint32(append(answer, optionLease, 4), leaseSeconds)
	return append(answer, optionEnd)
}

// give returns the address of a client, which keeps it; false if none is left.
func (s *dhcpServer) give(hardware string) (netip.Addr, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if address, has := s.given[hardware]; has {
		return address, true
	}
	if len(s.given) == len(s.Free) {
		return netip.Addr{}, false
	}
	if s.given == nil {
		s.given = map[string]netip.Addr{}
	}
	s.given[hardware] = s.Free[len(s.given)]
	return s.given[hardware], true
}

// typeOf returns the type of a message with these options; 0 if they do not contain it.
func typeOf(options []byte) byte {
	for len(options) > 2 && options[0] != optionEnd {
		if options[0] == 0 { // Padding.
			options = options[1:]
			continue
		}
		end := 2 + int(options[1])
		if end > len(options) {
			return 0
		}
		if options[0] == optionType && options[1] == 1 {
			return options[2]
		}
		options = options[end:]
	}
	return 0
}

// message returns the message of a client with a MAC address.
func message(kind, hardware byte, options ...byte) []byte {
	m := make([]byte, optionsAt)
	m[operation], m[1], m[hardwareLen], m[hardwareAt+5] = asks, 1, 6, hardware
	copy(m[4:8], []byte{1, 2, 3, 4}) // The answer repeats it.
	binary.BigEndian.PutUint32(m[cookieAt:], cookie)
	return append(append(append(m, options...), optionType, 1, kind), optionEnd)
}

func newServer() *dhcpServer {
	return &dhcpServer{
		Own: netip.MustParseAddr("172.18.0.1"), Network: netip.MustParsePrefix("172.18.0.0/16"),
		Free: []netip.Addr{netip.MustParseAddr("172.18.9.1"), netip.MustParseAddr("172.18.9.2")},
	}
}

func TestDHCPClientKeepsAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer()
	for said, answered := range map[byte]byte{discover: offer, request: acknowledge} {
		answer := s.answer(message(said, 7, 0, 12, 1, 'a'))
		g.Expect(answer[operation]).To(Equal(byte(answers)))
		g.Expect(answer[4:8]).To(Equal([]byte{1, 2, 3, 4}))
		g.Expect(answer[offeredAt : offeredAt+4]).To(Equal([]byte{172, 18, 9, 1}))
		g.Expect(answer[optionsAt:]).To(Equal([]byte{
			optionType, 1, answered, optionServer, 4, 172, 18, 0, 1, optionMask, 4, 255, 255, 0, 0, optionLease, 4, 0, 1, 0x51, 0x80, optionEnd,
		}))
	}
}

func TestDHCPClientsHaveDifferentAddresses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer()
	g.Expect(s.answer(message(discover, 1))[offeredAt+3]).To(Equal(byte(1)))
	g.Expect(s.answer(message(discover, 2))[offeredAt+3]).To(Equal(byte(2)))
	g.Expect(s.answer(message(discover, 3))).To(BeNil())
	g.Expect(s.answer(message(request, 1))[offeredAt+3]).To(Equal(byte(1)))
}

func TestDHCPIgnoresOtherMessages(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer()
	release := message(7, 1)
	answer := message(discover, 1)
	answer[operation] = answers
	cut := message(discover, 1)[:optionsAt+1]
	beyond := append(message(discover, 1)[:optionsAt], 12, 200)
	for _, m := range [][]byte{nil, make([]byte, 300), release, answer, cut, beyond} {
		g.Expect(s.answer(m)).To(BeNil())
	}
}
