// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vulncheck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tools is the folder of the module that pins govulncheck and its database.
const tools = "e2e/build/vulncheck"

// Scan builds every program of the modules and returns the findings of govulncheck. It scans programs instead of sources: code that the
// linker removed is not reachable, and a scan takes a second. The programs keep their symbols for it.
func Scan(ctx context.Context, root string, modules []string) ([]Finding, error) {
	database, err := database(ctx, root)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "vulncheck")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	govulncheck := filepath.Join(folder, "govulncheck")
	if _, err := output(ctx, root, tools, "build", "-o", govulncheck, "golang.org/x/vuln/cmd/govulncheck"); err != nil {
		return nil, err
	}
	var all []Finding
	for i, module := range modules {
		found, err := scan(ctx, root, module, filepath.Join(folder, fmt.Sprint(i)), func(program string) *exec.Cmd {
			return exec.CommandContext(ctx, govulncheck, "-mode=binary", "-format=json", "-db=file://"+database, program)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// database returns the folder of the vulnerability database. It downloads the module, because nothing is built from it.
func database(ctx context.Context, root string) (string, error) {
	printed, err := output(ctx, root, tools, "mod", "download", "-json", "golang.org/x/vulndb")
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(printed), &module); err != nil {
		return "", fmt.Errorf("locating the vulnerability database: %w", err)
	}
	return filepath.Join(module.Dir, "data", "osv"), nil
}

// scan builds the programs of a module into a folder and scans them.
func scan(ctx context.Context, root, module, folder string, command func(program string) *exec.Cmd) ([]Finding, error) {
	listed, err := output(ctx, root, module, "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./...")
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
	if _, err := output(ctx, root, module, slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-o", folder}, programs)...); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []Finding
	for _, file := range files {
		printed, err := run(command(filepath.Join(folder, file.Name())))
		if err != nil {
			return nil, err
		}
		found, err := Read(module+": "+file.Name(), strings.NewReader(printed))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// output runs go in a module of the repository.
func output(ctx context.Context, root, module string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(module))
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	printed, err := run(cmd)
	return strings.TrimSpace(printed), err
}

func run(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}
