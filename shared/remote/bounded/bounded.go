// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bounded ends answers that are longer, or take longer, than a manager reads. Clients decode an answer as a whole, so that a server could
// fill the memory of a manager that serves others as well. A watch has no end, so that it is each of its events that has a longest length.
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
	// Answer is the longest answer, unless the administrator has set another. Harvester and vCenter send lists of thousands of objects in
	// less, and decoded it is below the limit of a manager's memory.
	Answer = 256 << 20
	// event is the longest event of a watch, client-go's own limit for encodings in which it knows the length of an event beforehand.
	event = 16 << 20
	// patience is how long a request that is no watch may take with its answer. Most clients wait less, those of informers have no limit.
	patience = 5 * time.Minute
)

// ErrTooLong says that an answer was longer than what is read.
var ErrTooLong = errors.New("the answer is too long")

// RoundTripper sends requests by next. An answer of more bytes than the limit ends with ErrTooLong; 0 stands for Answer.
func RoundTripper(next http.RoundTripper, limit int64) http.RoundTripper {
	if limit <= 0 {
		limit = Answer
	}
	return roundTripper{next, limit}
}

type roundTripper struct {
	next  http.RoundTripper
	limit int64
}

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	watch := request.URL.Query().Get("watch")
	watches := watch == "true" || watch == "1"
	end := func() {}
	if !watches {
		var ctx context.Context
		ctx, end = context.WithTimeout(request.Context(), patience)
		request = request.WithContext(ctx)
	}
	response, err := r.next.RoundTrip(request)
	if err != nil {
		end()
		return nil, err
	}
	b := &body{ReadCloser: response.Body, end: end, limit: r.limit}
	if encoding := response.Header.Get("Content-Type"); watches && response.StatusCode == http.StatusOK {
		b.frames = framesOf(encoding)
	}
	if b.frames != nil {
		b.limit = min(b.limit, event)
	} else if response.ContentLength > b.limit && request.Method != http.MethodHead {
		_ = b.Close() // nothing of it is read
		return nil, b.tooLong()
	}
	b.left = b.limit
	response.Body = b
	return response, nil
}

// framesOf tells events of a watch apart; nil if the encoding is none of a watch, so that its answer is one whole.
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

// body is an answer. What is left is for the whole, or for an event where there are frames.
type body struct {
	io.ReadCloser

	end         func()
	frames      frames
	limit, left int64
}

// Read implements io.Reader.
func (b *body) Read(buffer []byte) (int, error) {
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
		_ = b.ReadCloser.Close() // what it would send in addition
		return n - 1, b.tooLong()
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

func (b *body) tooLong() error {
	what := "of an answer"
	if b.frames != nil {
		what = "of an event of a watch"
	}
	return fmt.Errorf("%w: the manager reads at most %d bytes %s", ErrTooLong, b.limit, what)
}
