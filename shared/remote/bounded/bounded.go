// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bounded limits the size and duration of responses. Clients decode a response as a whole, so a server could exhaust the
// memory of a manager that also serves other clusters. A watch has no end, so each of its events is limited instead.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

const (
	// Answer is the default maximum size of a response in bytes. Lists of thousands of objects from Harvester and vCenter are
	// smaller, and the decoded response stays below a manager's memory limit.
	Answer = 256 << 20
	// event is the maximum size of a watch event in bytes. It is client-go's own limit for encodings with length-prefixed events.
	event = 16 << 20
	// timeout is the timeout of a request, other than a watch, including its response. Most clients have a shorter timeout;
	// those of informers have none.
	timeout = 5 * time.Minute
)

// ErrTooLong is returned if a response exceeds the limit.
var ErrTooLong = errors.New("the response is too long")

// RoundTripper returns a RoundTripper that sends requests with next. Reading a response of more than limit bytes fails with
// ErrTooLong; 0 means Answer.
func RoundTripper(next http.RoundTripper, limit int64) http.RoundTripper {
	if limit <= 0 {
		limit = Answer
	}
	return roundTripper{Deadline(next), limit}
}

// Deadline returns a RoundTripper that sends requests with next and ends them after a timeout, except for watches.
func Deadline(next http.RoundTripper) http.RoundTripper { return deadline{next} }

type deadline struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d deadline) RoundTrip(request *http.Request) (*http.Response, error) {
	if watches(request) {
		return d.next.RoundTrip(request)
	}
	ctx, end := context.WithTimeout(request.Context(), timeout)
	response, err := d.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	response.Body = endingBody{response.Body, end}
	return response, nil
}

func watches(request *http.Request) bool {
	watch := request.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// endingBody is the body of a response with a deadline.
type endingBody struct {
	io.ReadCloser

	end func()
}

// Close implements io.Closer.
func (b endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

type roundTripper struct {
	next  http.RoundTripper
	limit int64
}

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	b := &limitedBody{ReadCloser: response.Body, limit: r.limit}
	if encoding := response.Header.Get("Content-Type"); watches(request) && response.StatusCode == http.StatusOK {
		b.frames = framesOf(encoding)
	}
	if b.frames != nil {
		b.limit = min(b.limit, event)
	} else if response.ContentLength > b.limit && request.Method != http.MethodHead {
		_ = b.Close() // the content is not read
		return nil, b.tooLong()
	}
	b.left = b.limit
	response.Body = b
	return response, nil
}

// framesOf returns the frames for the encoding of a watch; nil if a watch does not use the encoding, so that the limit applies to
// the whole response.
func framesOf(encoding string) frames {
	switch media, _, _ := mime.ParseMediaType(encoding); media {
	case "application/json":
		return &texts{}
	case "application/vnd.kubernetes.protobuf":
		return &lengths{}
	default:
		return nil
	}
}

// limitedBody is a limited response body. left applies to the whole response, or to the current event if there are frames.
type limitedBody struct {
	io.ReadCloser

	frames      frames
	limit, left int64
}

// Read implements io.Reader.
func (b *limitedBody) Read(buffer []byte) (int, error) {
	if b.left < 0 {
		return 0, b.tooLong()
	}
	if int64(len(buffer)) > b.left+1 {
		buffer = buffer[:b.left+1]
	}
	n, err := b.ReadCloser.Read(buffer)
	b.left -= int64(n)
	if b.frames != nil {
		if rest, ended := b.frames.after(buffer[:n]); ended {
			b.left = b.limit - rest
		}
	}
	if b.left < 0 {
		_ = b.Close() // stop the server from sending more
		return n - 1, b.tooLong()
	}
	return n, err
}

func (b *limitedBody) tooLong() error {
	what := "of a response"
	if b.frames != nil {
		what = "of an event of a watch"
	}
	return fmt.Errorf("%w: the manager reads at most %d bytes %s", ErrTooLong, b.limit, what)
}
