// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vulncheck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/tool"
)

// tools is the folder of the module that pins govulncheck and its database.
const tools = "e2e/build/vulncheck"

// Scan builds every program of the modules and returns the findings of govulncheck. It scans programs instead of sources: code that the
// linker removed is not reachable, and a scan takes a second. The programs keep their symbols for it.
func Scan(ctx context.Context, root string, modules []string) ([]Finding, error) {
	module := func(name string) tool.Module {
		return tool.Module{Folder: filepath.Join(root, filepath.FromSlash(name))}
	}
	database, _, err := module(tools).Download(ctx, "golang.org/x/vulndb")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "vulncheck")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	govulncheck := filepath.Join(folder, "govulncheck")
	if _, err := module(tools).Go(ctx, "build", "-o", govulncheck, "golang.org/x/vuln/cmd/govulncheck"); err != nil {
		return nil, err
	}
	var all []Finding
	for i, name := range modules {
		found, err := scan(ctx, module(name), name, filepath.Join(folder, fmt.Sprint(i)),
			govulncheck, "-mode=binary", "-format=json", "-db=file://"+filepath.Join(database, "data", "osv"))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// scan builds the programs of a module into a folder, and passes each to a command.
func scan(ctx context.Context, module tool.Module, name, folder string, command ...string) ([]Finding, error) {
	listed, err := module.Go(ctx, "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./...")
	if err != nil {
		return nil, err
	}
	programs := strings.Fields(listed)
	if len(programs) == 0 {
		return nil, nil
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	if _, err := module.Go(ctx, slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-o", folder}, programs)...); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []Finding
	for _, file := range files {
		printed, err := tool.Runner{}.Run(ctx, command[0], append(command[1:], filepath.Join(folder, file.Name()))...)
		if err != nil {
			return nil, err
		}
		found, err := Read(name+": "+file.Name(), strings.NewReader(printed))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
