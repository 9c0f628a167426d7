// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source decides whether programs and images of others are taken as they were published or built here.
package source

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
	// Auto takes what was published where that can be reached.
	Auto Source = "auto"
	// Build builds everything from modules and Debian packages.
	Build Source = "build"
	// Published takes what was published, and fails where that cannot be reached.
	Published Source = "published"
)

// askTimeout is short: a site behind a firewall often does not answer at all.
const askTimeout = 5 * time.Second

// Parse reads a source; "" is Auto.
func Parse(text string) (Source, error) {
	switch s := Source(text); s {
	case "":
		return Auto, nil
	case Auto, Build, Published:
		return s, nil
	}
	return "", fmt.Errorf("there is no source %q: it is %s, %s or %s", text, Auto, Build, Published)
}

// Published reports whether to take what was published. Only Auto asks.
func (s Source) Published(answers func() error) (bool, error) {
	parsed, err := Parse(string(s))
	if err != nil {
		return false, err
	}
	return parsed == Published || parsed == Auto && answers() == nil, nil
}

// Ask is nil when a registry answers, be it that it wants to know who asks.
func Ask(ctx context.Context, url string) error {
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
