// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// program is a program whose flags are on the page.
type program struct {
	// Name is the name in prose.
	Name string
	// Folder has its main package, relative to the root.
	Folder string
	// Subcommand is true for a subcommand of the plugin.
	Subcommand bool
	// Sections are the flags by the heading that the program prints above them.
	Sections []flagSection
}

type flagSection struct {
	Heading string
	Flags   []flagHelp
}

// flagHelp is what a program prints about a flag.
type flagHelp struct{ Short, Name, Type, Default, Usage string }

// isManager reports whether a program has the flags of shared/manager: the only sections of its help are without a heading.
func (p program) isManager() bool { return len(p.Sections) == 1 && p.Sections[0].Heading == "" }

// flagsPage returns the page of the flags. It runs the programs: no other source has the flags that libraries add.
func flagsPage(root string) (map[string]string, error) {
	programs, err := programs(root)
	if err != nil {
		return nil, err
	}
	common := commonFlags(programs)
	var b strings.Builder
	b.WriteString("# Flags\n\nThe flags of every program, as `--help` prints them. A flag without a default is empty or 0.\n")
	fmt.Fprintf(&b, "\n## All managers\n\nThe manager of each provider and of Harvester's load balancers has these flags.\n\n%s", flagTable(common))
	var inherited []flagHelp
	for _, p := range programs {
		fmt.Fprintf(&b, "\n## %s\n\n", p.Name)
		switch {
		case p.Folder == plugin && !p.Subcommand:
			b.WriteString("Every subcommand has these flags, too.\n\n")
			inherited = p.Sections[0].Flags
			b.WriteString(p.sections(nil))
		case p.isManager():
			b.WriteString("In addition to the [flags of all managers](#all-managers):\n\n" + p.sections(common))
		case p.Subcommand:
			b.WriteString(cmp.Or(p.sections(inherited), "It has no flags of its own.\n"))
		default:
			b.WriteString(p.sections(nil))
		}
	}
	return map[string]string{"flags.md": b.String()}, nil
}

// sections returns the tables of the flags of a program that are not known.
func (p program) sections(known []flagHelp) string {
	var all []string
	for _, s := range p.Sections {
		flags := slices.DeleteFunc(slices.Clone(s.Flags), func(f flagHelp) bool { return f.Name == "help" || slices.Contains(known, f) })
		if len(flags) == 0 {
			continue
		}
		heading := ""
		if len(p.Sections) > 1 && p.Folder != plugin {
			heading = "### " + s.Heading + "\n\n"
		}
		all = append(all, heading+flagTable(flags))
	}
	return strings.Join(all, "\n")
}

// plugin is the folder of the kubectl plugin, whose subcommands have flags of their own.
const plugin = "kubectl-fd"

// programs returns the programs of the repository with their flags: the manager of each provider, what is in its folder cmd, and the plugin.
func programs(root string) ([]program, error) {
	var all []program
	for _, name := range providers(root) {
		all = append(all, program{Name: title(name) + " manager", Folder: path.Join("providers", name)})
		commands, err := filepath.Glob(filepath.Join(root, "providers", name, "cmd", "*", "main.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range commands {
			command := filepath.Base(filepath.Dir(file))
			all = append(all, program{
				Name:   title(name) + " " + strings.ReplaceAll(command, "-", " "),
				Folder: path.Join("providers", name, "cmd", command),
			})
		}
	}
	for i := range all {
		help, err := printed(filepath.Join(root, filepath.FromSlash(all[i].Folder)), "go", "run", ".", "--help")
		if err != nil {
			return nil, err
		}
		all[i].Sections = parseHelp(help)
	}
	commands, err := pluginCommands(root)
	if err != nil {
		return nil, err
	}
	all = append(all, commands...)
	for _, p := range all {
		if len(p.Sections) == 0 {
			return nil, fmt.Errorf("%s prints no flags", p.Name)
		}
	}
	return all, nil
}

// pluginCommands returns the plugin and its subcommands with their flags. The plugin is built once and runs for each of them.
func pluginCommands(root string) ([]program, error) {
	folder, err := os.MkdirTemp("", "flags")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary := filepath.Join(folder, plugin)
	if _, err := printed(filepath.Join(root, plugin), "go", "build", "-o", binary, "."); err != nil {
		return nil, err
	}
	help, err := printed(folder, binary, "--help")
	if err != nil {
		return nil, err
	}
	all := []program{{Name: "kubectl fd", Folder: plugin, Sections: parseHelp(help)}}
	_, listed, found := strings.Cut(help, "Available Commands:\n")
	if !found {
		return nil, fmt.Errorf("the help of kubectl fd lists no commands:\n%s", help)
	}
	listed, _, _ = strings.Cut(listed, "\n\n")
	for line := range strings.Lines(listed) {
		command := strings.Fields(line)[0]
		if command == "help" || command == "completion" { // These are not the plugin's own.
			continue
		}
		help, err := printed(folder, binary, command, "--help")
		if err != nil {
			return nil, err
		}
		all = append(all, program{Name: "kubectl fd " + command, Folder: plugin, Subcommand: true, Sections: parseHelp(help)})
	}
	return all, nil
}

// printed returns what a command prints.
func printed(folder, command string, arguments ...string) (string, error) {
	run := exec.Command(command, arguments...) //nolint:noctx // the go command and programs of the repository, which end by themselves
	run.Dir = folder
	run.Env = environment()
	output, err := run.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("running %s in %s: %w\n%s", run, folder, err, output)
	}
	return string(output), nil
}

// environment returns only what the go command needs: flags may have their defaults from other variables.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !strings.HasPrefix(name, "GO") && !strings.HasPrefix(name, "CGO_") && !slices.Contains([]string{"HOME", "PATH", "TMPDIR", "XDG_CACHE_HOME"}, name)
	})
}

// parseHelp returns the flags in the help of a program. Its flags are printed by pflag: name, type and, after at least three spaces, the
// usage, whose further lines are indented deeper.
func parseHelp(help string) []flagSection {
	flagLine := regexp.MustCompile(`^ {2,6}(?:-(\w), )?--([\w.-]+)(?: (.*?))? {3,}(\S.*)$`)
	sections := []flagSection{{}}
	if home, err := os.UserHomeDir(); err == nil { // Some defaults are below it.
		help = strings.ReplaceAll(help, home+"/", "$HOME/")
	}
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n")
		last := &sections[len(sections)-1]
		switch found := flagLine.FindStringSubmatch(line); {
		case found != nil:
			last.Flags = append(last.Flags, flagHelp{Short: found[1], Name: found[2], Type: found[3], Usage: found[4]})
		case line == "" || strings.HasPrefix(line, "Usage of "):
		case !strings.HasPrefix(line, " "):
			sections = append(sections, flagSection{Heading: strings.TrimSuffix(line, ":")})
		case len(last.Flags) > 0:
			last.Flags[len(last.Flags)-1].Usage += "\n" + strings.TrimSpace(line)
		}
	}
	sections = slices.DeleteFunc(sections, func(s flagSection) bool { return len(s.Flags) == 0 })
	for _, s := range sections {
		for i := range s.Flags {
			s.Flags[i].cutDefault()
		}
	}
	return sections
}

// cutDefault moves the default from the end of the usage. pflag prints no type and no false for a boolean flag.
func (f *flagHelp) cutDefault() {
	if found := regexp.MustCompile(`(?s)^(.*?)\s*\(default (.*)\)$`).FindStringSubmatch(f.Usage); found != nil {
		f.Usage, f.Default = found[1], found[2]
	}
	if f.Type == "" {
		f.Type, f.Default = "boolean", cmp.Or(f.Default, "false")
	}
}

// commonFlags returns the flags that all managers have, with the same default and usage.
func commonFlags(programs []program) []flagHelp {
	var common []flagHelp
	first := true
	for _, p := range programs {
		if !p.isManager() {
			continue
		}
		if first {
			common, first = slices.Clone(p.Sections[0].Flags), false
		}
		common = slices.DeleteFunc(common, func(f flagHelp) bool { return !slices.Contains(p.Sections[0].Flags, f) })
	}
	return common
}

func flagTable(flags []flagHelp) string {
	rows := make([][]string, len(flags))
	for i, f := range flags {
		name := code("--" + f.Name)
		if f.Short != "" {
			name += ", " + code("-"+f.Short)
		}
		rows[i] = []string{name, text(f.Type), code(f.Default), text(f.Usage)}
	}
	return table([]string{"Flag", "Type", "Default", "Description"}, rows)
}
