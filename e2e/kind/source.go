// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Source says where the images of others come from: the node's, cert-manager's and
// Cluster API's. Our own are always built.
type Source string

// The sources there are.
const (
	// Auto takes published images where a registry answers.
	Auto Source = "auto"
	// Build builds every image from modules and Debian packages.
	Build Source = "build"
	// Published pulls the images from their registries.
	Published Source = "published"
)

const (
	// registry has most of the published images.
	registry = "https://registry.k8s.io/v2/"
	// registryTimeout is short: a registry behind a firewall often does not answer at all.
	registryTimeout = 5 * time.Second
)

// published settles the source. Only Auto asks the registry.
func (s Source) published(answers func() error) (bool, error) {
	switch s {
	case Build:
		return false, nil
	case Published:
		return true, nil
	case Auto, "":
		return answers() == nil, nil
	}
	return false, fmt.Errorf("there is no image source %q: it is %s, %s or %s", string(s), Auto, Build, Published)
}

func (e *Environment) findSource(ctx context.Context, log io.Writer) (err error) {
	e.found.published, err = e.Source.published(func() error {
		err := ask(ctx, registry)
		_, _ = fmt.Fprintf(log, "asked %s: %v\n", registry, err)
		return err
	})
	return err
}

// ask is nil when a registry answers, be it that it wants to know who asks.
func ask(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
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
