// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Source says where programs and images of others come from. Our own are always built.
type Source string

// The sources there are.
const (
	// SourceAuto takes what was published where that can be reached.
	SourceAuto Source = "auto"
	// SourceBuild builds everything from modules and Debian packages.
	SourceBuild Source = "build"
	// SourcePublished takes what was published, and fails where that cannot be reached.
	SourcePublished Source = "published"
)

// askTimeout is short: a site behind a firewall often does not answer at all.
const askTimeout = 5 * time.Second

// ParseSource reads a source; "" is SourceAuto.
func ParseSource(text string) (Source, error) {
	switch s := Source(text); s {
	case "":
		return SourceAuto, nil
	case SourceAuto, SourceBuild, SourcePublished:
		return s, nil
	}
	return "", fmt.Errorf("there is no source %q: it is %s, %s or %s", text, SourceAuto, SourceBuild, SourcePublished)
}

// Published reports whether to take what was published. Only SourceAuto asks.
func (s Source) Published(answers func() error) (bool, error) {
	parsed, err := ParseSource(string(s))
	if err != nil {
		return false, err
	}
	return parsed == SourcePublished || parsed == SourceAuto && answers() == nil, nil
}

// AskRegistry is nil when a registry answers, be it that it wants to know who asks.
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
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}
