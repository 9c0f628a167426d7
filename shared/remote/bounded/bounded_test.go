// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package bounded_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/remote/bounded"
)

// server returns the same response to each request, and records whether response bodies were closed and requests ended.
type server struct {
	status   int
	encoding string
	length   int64
	body     io.Reader
	closed   int
	request  *http.Request
}

func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	s.request = request
	return &http.Response{
		StatusCode: s.status, Header: http.Header{"Content-Type": {s.encoding}}, ContentLength: s.length, Body: s,
	}, nil
}

func (s *server) Read(buffer []byte) (int, error) { return s.body.Read(buffer) }

func (s *server) Close() error {
	s.closed++
	return nil
}

// endless is a response body that never ends.
type endless struct{ read int }

func (e *endless) Read(buffer []byte) (int, error) {
	e.read += len(buffer)
	return copy(buffer, bytes.Repeat([]byte(" "), len(buffer))), nil
}

func get(g *WithT, s *server, path string, limit int64) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, "https://a.example.com"+path, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	return bounded.RoundTripper(s, limit).RoundTrip(request)
}

func TestResponseLimit(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*server{
		"an answer":                     {status: http.StatusOK, encoding: "application/json", length: -1},
		"a refusal":                     {status: http.StatusInternalServerError, encoding: "text/plain", length: -1},
		"with a correct length":         {status: http.StatusOK, encoding: "application/json", length: 101},
		"what a server has compressed":  {status: http.StatusOK, encoding: "application/json", length: -1},
		"with a length that is too low": {status: http.StatusOK, encoding: "application/json", length: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			source := &endless{}
			s.body = source
			response, err := get(g, s, "/api/v1/nodes", 100) //nolint:bodyclose // the test counts who closes it
			if err == nil {
				var read []byte
				read, err = io.ReadAll(response.Body)
				g.Expect(read).To(HaveLen(100))
				_, again := response.Body.Read(make([]byte, 1))
				g.Expect(again).To(MatchError(bounded.ErrTooLong))
			}
			g.Expect(err).To(And(MatchError(bounded.ErrTooLong), MatchError(ContainSubstring("at most 100 bytes of a response"))))
			g.Expect(source.read).To(BeNumerically("<=", 101))
			g.Expect(s.closed).To(BeNumerically(">=", 1))
		})
	}
}

func TestLongestResponse(t *testing.T) {
	t.Parallel()
	for _, length := range []int{0, 1, 99, 100} {
		g := NewWithT(t)
		content := strings.Repeat("x", length)
		s := &server{status: http.StatusOK, length: int64(length), body: iotest.OneByteReader(strings.NewReader(content))}
		response, err := get(g, s, "/api", 100)
		g.Expect(err).NotTo(HaveOccurred())
		read, err := io.ReadAll(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(read)).To(Equal(content))
		g.Expect(s.request.Context().Err()).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(s.request.Context().Err()).To(HaveOccurred(), "nothing is left of the request")
	}
}

func TestRequestDeadline(t *testing.T) {
	t.Parallel()
	for path, limited := range map[string]bool{"/a": true, "/a?watch=false": true, "/a?watch=true": false, "/a?watch=1": false} {
		g := NewWithT(t)
		s := &server{status: http.StatusOK, encoding: "application/json", body: strings.NewReader("")}
		_, err := get(g, s, path, 100) //nolint:bodyclose // it is in memory
		g.Expect(err).NotTo(HaveOccurred())
		_, has := s.request.Context().Deadline()
		g.Expect(has).To(Equal(limited), path)
	}
}

// inProtobuf returns an event prefixed with its length.
func inProtobuf(content string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(content)))) + content
}

func TestWatch(t *testing.T) {
	t.Parallel()
	const protobuf = "application/vnd.kubernetes.protobuf;stream=watch"
	for name, s := range map[string]struct{ encoding, event string }{
		"JSON":                         {"application/json", `{"type":"ADDED","object":{"a":["}","\"{\\"]}}` + "\n"},
		"JSON, with nothing between":   {"application/json;stream=watch", `{"a":[{}]}`},
		"protobuf":                     {protobuf, inProtobuf("01234567890123456789")},
		"protobuf, with nothing in it": {protobuf, inProtobuf("")},
	} {
		for how, cut := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "in halves": iotest.HalfReader,
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				content := strings.Repeat(s.event, 1000)
				response, err := get(g, &server{ //nolint:bodyclose // it is in memory
					status: http.StatusOK, encoding: s.encoding, length: -1, body: cut(strings.NewReader(content)),
				}, "/api/v1/nodes?watch=true", int64(len(s.event)))
				g.Expect(err).NotTo(HaveOccurred())
				read, err := io.ReadAll(response.Body)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(read).To(HaveLen(len(content)))
			})
		}
	}
}

func TestWatchEventLimit(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		status            int
		encoding, content string
		most              int
		what              string
	}{
		"JSON that is never closed":   {200, "application/json", `{"a":1}{"a":[`, 107, "of an event of a watch"},
		"a text that is never closed": {200, "application/json", `{"a":1}{"a":"}{}{}{}`, 107, "of an event of a watch"},
		"nothing but spaces":          {200, "application/json", ``, 100, "of an event of a watch"},
		"protobuf":                    {200, "application/vnd.kubernetes.protobuf", inProtobuf("x") + "\xff\xff\xff\xff", 105, "of an event of a watch"},
		"an unknown encoding":         {200, "application/yaml", `{"a":1}`, 100, "of a response"},
		"a refusal":                   {403, "application/json", `{"a":1}`, 100, "of a response"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			source := &endless{}
			response, err := get(g, &server{ //nolint:bodyclose // it is in memory
				status: s.status, encoding: s.encoding, length: -1, body: io.MultiReader(strings.NewReader(s.content), source),
			}, "/api/v1/nodes?watch=true", 100)
			g.Expect(err).NotTo(HaveOccurred())
			read, err := io.ReadAll(response.Body)
			g.Expect(err).To(And(MatchError(bounded.ErrTooLong), MatchError(ContainSubstring(s.what))))
			g.Expect(read).To(HaveLen(s.most))
		})
	}
}
