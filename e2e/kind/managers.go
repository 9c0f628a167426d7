// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"io"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/charts"
	"github.com/faultline-io/faultline/e2e/docker"
)

// ManagerImages builds only the images of our providers' managers, and of the programs that their charts run, under the names in the
// manifests and charts of the release. It needs no registry, because each image has only one static program.
func (e *Environment) ManagerImages(ctx context.Context, release docker.Release) error {
	e.found = findings{}
	return e.stepper().run(ctx, []step{
		{"docker engine", e.startEngine},
		{"programs", e.buildManagers},
		{"manager images", func(ctx context.Context, log io.Writer) error { return e.buildManagerImages(ctx, log, release) }},
	})
}

func (e *Environment) buildManagers(ctx context.Context, _ io.Writer) error {
	names := e.chartPrograms()
	for _, p := range e.Providers {
		names = append(names, binaries.Provider(p.Describe().Name))
	}
	var err error
	e.found.programs, err = e.builder.Ensure(ctx, names...)
	return err
}

func (e *Environment) buildManagerImages(ctx context.Context, log io.Writer, release docker.Release) error {
	images, err := e.releaseImages(release)
	if err != nil {
		return err
	}
	for _, i := range images {
		built, err := i.Ensure(ctx, e.docker(log))
		if err != nil {
			return err
		}
		what := "is up to date"
		if built {
			what = "is new"
		}
		if _, err := fmt.Fprintln(e.Out, i.Name, what); err != nil {
			return err
		}
	}
	return nil
}

// releaseImages returns all images of a release.
func (e *Environment) releaseImages(release docker.Release) ([]docker.Image, error) {
	images, err := e.ownImages()
	if err != nil {
		return nil, err
	}
	fromCharts, err := e.chartImages()
	if err != nil {
		return nil, err
	}
	images = append(images, fromCharts...)
	for i := range images {
		images[i].Name = release.Name(images[i].Name)
	}
	return images, nil
}

// chartPrograms returns the programs that the charts of our providers run. A chart and its program have the same name.
func (e *Environment) chartPrograms() []string {
	var names []string
	for _, p := range e.Providers {
		names = append(names, charts.Of(p.Describe().Name)...)
	}
	return names
}

// chartImages returns the images that the charts of our providers use.
func (e *Environment) chartImages() ([]docker.Image, error) {
	var images []docker.Image
	for _, chart := range e.chartPrograms() {
		name, err := charts.Image(e.builder.Root, chart)
		if err != nil {
			return nil, err
		}
		images = append(images, docker.ProgramImage(name, e.found.programs[chart], docker.ManagerPath, docker.NonRoot))
	}
	return images, nil
}
