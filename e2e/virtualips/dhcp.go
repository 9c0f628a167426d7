// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualips

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
)

// Where things are in a message.
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

// Options, and the types of messages that one of them has.
const (
	optionMask, optionLease, optionType, optionServer, optionEnd = 1, 51, 53, 54, 255

	discover, offer, request, acknowledge = 1, 2, 3, 5
)

// leaseSeconds is longer than anybody asks here.
const leaseSeconds = 24 * 3600

// DHCPServer gives addresses.
type DHCPServer struct {
	// Own is the server's, and Network what clients are told that theirs are in.
	Own     netip.Addr
	Network netip.Prefix
	// Free are given one after the other.
	Free []netip.Addr

	mu    sync.Mutex
	given map[string]netip.Addr // by hardware address
}

// Serve answers until the connection is closed.
func (s *DHCPServer) Serve(on net.PacketConn) {
	const largest = 1500
	message := make([]byte, largest)
	everybody := &net.UDPAddr{IP: net.IPv4bcast, Port: 68}
	for {
		n, _, err := on.ReadFrom(message)
		if err != nil {
			return
		}
		if answer := s.answer(message[:n]); answer != nil {
			_, _ = on.WriteTo(answer, everybody) // A client that hears nothing asks again.
		}
	}
}

// answer is what the server says; nil is nothing.
func (s *DHCPServer) answer(message []byte) []byte {
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

// give is the address of a client, who keeps it; false when there is none left.
func (s *DHCPServer) give(hardware string) (netip.Addr, bool) {
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

// typeOf is what kind of message has these options; 0 when they do not tell.
func typeOf(options []byte) byte {
	for len(options) > 2 && options[0] != optionEnd {
		if options[0] == 0 { // It fills up.
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
