// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"

	"github.com/faultline-io/faultline/e2e/site"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runDocs runs subcommand docs.
func runDocs(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("e2e docs", flag.ContinueOnError)
	s := site.Site{Log: stderr}
	flags.StringVar(&s.Root, "root", "..", "Root directory of the repository.")
	flags.StringVar(&s.Version, "version", "", "Version that the pages describe, for example v2.0.0.")
	flags.StringVar(&s.BaseURL, "base-url", "/", "Address below which the versions are served.")
	flags.StringVar(&s.Out, "out", "", "Directory to write the site to: a folder for each version.")
	listen := flags.String("serve", "", "Address to serve the built site on, for example localhost:1313. Defaults to not serving it.")
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	if s.Version == "" || s.Out == "" {
		return errors.New("--version and --out must be set")
	}
	if *listen != "" && s.BaseURL != "/" {
		return errors.New("--serve and --base-url exclude each other: the site is served at /")
	}
	folder, err := s.Build(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, folder); err != nil || *listen == "" {
		return err
	}
	stop, err := tool.Serve(ctx, *listen, http.FileServer(http.Dir(s.Out)))
	if err != nil {
		return err
	}
	defer stop()
	if _, err := fmt.Fprintf(stdout, "http://%s/\n", *listen); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
