// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualips

import (
	"encoding/binary"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
)

// message is what a client with a hardware address says.
func message(kind, hardware byte, options ...byte) []byte {
	m := make([]byte, optionsAt)
	m[operation], m[1], m[hardwareLen], m[hardwareAt+5] = asks, 1, 6, hardware
	copy(m[4:8], []byte{1, 2, 3, 4}) // The answer has it, too.
	binary.BigEndian.PutUint32(m[cookieAt:], cookie)
	return append(append(append(m, options...), optionType, 1, kind), optionEnd)
}

func newServer() *DHCPServer {
	return &DHCPServer{
		Own: netip.MustParseAddr("172.18.0.1"), Network: netip.MustParsePrefix("172.18.0.0/16"),
		Free: []netip.Addr{netip.MustParseAddr("172.18.9.1"), netip.MustParseAddr("172.18.9.2")},
	}
}

func TestAClientIsOfferedTheAddressThatItGetsAndKeeps(t *testing.T) {
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

func TestEveryClientHasAnAddressOfItsOwnAsLongAsThereAreSome(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer()
	g.Expect(s.answer(message(discover, 1))[offeredAt+3]).To(Equal(byte(1)))
	g.Expect(s.answer(message(discover, 2))[offeredAt+3]).To(Equal(byte(2)))
	g.Expect(s.answer(message(discover, 3))).To(BeNil())
	g.Expect(s.answer(message(request, 1))[offeredAt+3]).To(Equal(byte(1)))
}

func TestWhatIsNoQuestionHasNoAnswer(t *testing.T) {
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
