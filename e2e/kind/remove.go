// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// remove removes the environment. It starts a stopped engine for that, because containers of an environment that was not removed come
// back with the engine.
func (e *Environment) remove(ctx context.Context, log io.Writer) error {
	if _, err := e.docker(log).Run(ctx, "version"); err != nil {
		engine := e.engine(log)
		if err := errors.Join(ctx.Err(), engine.Absent()); err != nil || !engine.Startable() {
			return err
		}
		if err := engine.Ensure(ctx); err != nil {
			return err
		}
	}
	if err := e.removeContainers(ctx, log); err != nil {
		return err
	}
	if err := e.cluster(log).Delete(); err != nil {
		return err
	}
	if err := e.removeNetworks(ctx, log); err != nil {
		return err
	}
	return os.RemoveAll(e.repository().Dir)
}

// stopEngine stops the engine unless it runs other containers.
func (e *Environment) stopEngine(ctx context.Context, log io.Writer) error {
	containers, err := e.docker(log).Run(ctx, "ps", "--quiet")
	if err != nil {
		return ctx.Err() // The engine does not respond, so there is nothing to stop.
	}
	if others := len(strings.Fields(containers)); others > 0 {
		_, err := fmt.Fprintf(e.Out, "The Docker engine keeps running: it has %d other containers\n", others)
		return err
	}
	return e.engine(log).Stop(ctx)
}
