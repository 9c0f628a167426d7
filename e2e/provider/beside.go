// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiwait "k8s.io/apimachinery/pkg/util/wait"

	"github.com/faultline-io/faultline/e2e/docker"
)

// Keep runs the container of a simulator that keeps what it knows in memory. It starts anew, with nothing, only when its image
// has moved: then the machines go that another one has left, whose containers have names of this pattern.
func (k Kind) Keep(ctx context.Context, s Simulator, machines string, arguments []string) error {
	name := k.Container(s)
	image, err := k.Docker.ImageID(ctx, s.Image(k.Boot))
	if err != nil {
		return err
	}
	running, err := k.Docker.Run(ctx, "ps", "--quiet", "--filter", "name=^"+name+"$", "--filter", "ancestor="+image)
	if err != nil || running != "" {
		return err
	}
	left, err := k.Docker.Run(ctx, "ps", "--all", "--quiet", "--filter", "label="+k.Label, "--filter", "name=^"+name, "--filter", "name="+machines)
	if err != nil {
		return err
	}
	if left != "" {
		if err := k.Docker.Remove(ctx, strings.Fields(left)...); err != nil {
			return err
		}
	}
	_, err = k.Docker.Run(ctx, arguments...)
	return err
}

// Told waits until a simulator's container has told what cluster templates need to know: NAME=value, one a line. This name is
// the last that it tells.
func Told(ctx context.Context, d docker.Docker, container string, within time.Duration, last string) (told map[string]string, err error) {
	err = apiwait.PollUntilContextTimeout(ctx, within/100, within, true, func(ctx context.Context) (bool, error) {
		said, err := d.Run(ctx, "logs", container)
		told = variables(said)
		return err == nil && told[last] != "", nil
	})
	if err != nil {
		return nil, fmt.Errorf("the simulator in container %s does not start (docker logs %s says why): %w", container, container, err)
	}
	return told, nil
}

// variables reads NAME=value lines; others are passed over.
func variables(said string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(said) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.ContainsAny(name, " \t") {
			found[name] = value
		}
	}
	return found
}
