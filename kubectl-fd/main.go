// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-fd is a kubectl plugin: kubectl fd shows and sets how the failure domains of Cluster API clusters are used.
package main

import (
	"context"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // The authentication plugins that kubeconfigs use.
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/faultline-io/faultline/kubectl-fd/internal/command"
)

// version is set by the linker when a release is built.
var version = "devel"

func main() {
	// Clients return their messages as errors.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(command.Main(context.Background(), command.Options{
		IOStreams:   genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Environment: os.Getenv, Now: time.Now, Version: version,
	}, os.Args[1:]))
}
