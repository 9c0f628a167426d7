// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command prose fails when comments, strings or pages of the repository have words that the documentation of Kubernetes does not use.
// The list is words.yaml.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"

	"github.com/faultline-io/faultline/e2e/tool"
)

func main() {
	tool.Main(func(ctx context.Context, args []string) error { return run(ctx, args, os.Stdout, os.Stderr) }, tool.PlainError)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("prose", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", "..", "Root directory of the repository.")
	flags.Usage = func() {
		_, _ = fmt.Fprintln(stderr, "Usage: prose [--root=DIR] [PATH...]")
		_, _ = fmt.Fprintln(stderr, "Checks the words of the files that git tracks below each PATH, or of all.")
		flags.PrintDefaults()
	}
	if err := tool.ParseWords(flags, args); err != nil {
		return err
	}
	list, err := Words()
	if err != nil {
		return err
	}
	files, err := tracked(ctx, *root, flags.Args())
	if err != nil {
		return err
	}
	found := 0
	for _, file := range files {
		hits, err := list.Check(*root, file)
		if err != nil {
			return err
		}
		for _, hit := range hits {
			found++
			_, _ = fmt.Fprintln(stdout, hit)
		}
	}
	if found > 0 {
		return fmt.Errorf("%d hits: rewrite the sentences, or allow a technical term in e2e/cmd/prose/words.yaml with the reason", found)
	}
	return nil
}

// tracked lists the files of the kinds that have prose.
func tracked(ctx context.Context, root string, below []string) ([]string, error) {
	list := exec.CommandContext(ctx, "git", append([]string{"ls-files", "--"}, below...)...)
	list.Dir = root
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing files with git: %w", err)
	}
	withProse := regexp.MustCompile(`(?m)^.*(\.go|\.md|\.yaml|\.tmpl|Makefile)$`)
	return withProse.FindAllString(string(output), -1), nil
}
