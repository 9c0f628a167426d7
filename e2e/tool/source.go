// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Source selects where third-party images come from. Ours are always built.
type Source string

// Valid sources.
const (
	// SourceAuto uses published images if they are reachable.
	SourceAuto Source = "auto"
	// SourceBuild builds everything from modules and Debian packages.
	SourceBuild Source = "build"
	// SourcePublished uses published images, and fails if they are not reachable.
	SourcePublished Source = "published"
)

// askTimeout is short, because a site behind a firewall often does not answer at all.
const askTimeout = 5 * time.Second

// ParseSource parses a source.
func ParseSource(text string) (Source, error) {
	switch s := Source(text); s {
	case SourceAuto, SourceBuild, SourcePublished:
		return s, nil
	}
	return "", fmt.Errorf("unknown source %q: must be %s, %s or %s", text, SourceAuto, SourceBuild, SourcePublished)
}

// Published reports whether to use published images. Only SourceAuto, which "" is, too, calls answers.
func (s Source) Published(answers func() error) bool {
	return s == SourcePublished || s != SourceBuild && answers() == nil
}

// AskRegistry returns nil if a registry answers, even if it requires authentication.
func AskRegistry(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("unexpected response: %s", response.Status)
	}
	return nil
}
