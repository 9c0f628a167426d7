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

// program is a program, or a subcommand of one, whose flags are on the page.
type program struct {
	// Name is the name in prose.
	Name string
	// Sections are the flags by the heading that the program prints above them.
	Sections []flagSection
}

type flagSection struct {
	Heading string
	Flags   []flagHelp
}

// flagHelp is what a program prints about a flag.
type flagHelp struct{ Short, Name, Type, Default, Usage string }

// IsManager reports whether a program has the flags of shared/manager: the only sections of its help are without a heading.
func (p program) IsManager() bool { return len(p.Sections) == 1 && p.Sections[0].Heading == "" }

// flagsPage returns the page of the flags. It runs the programs: no other source has the flags that libraries add.
func flagsPage(root string) (map[string]string, error) {
	programs, err := programs(root)
	if err != nil {
		return nil, err
	}
	commands, err := pluginCommands(root)
	if err != nil {
		return nil, err
	}
	common := commonFlags(programs)
	for i := range programs {
		if programs[i].IsManager() {
			programs[i].omit(common)
		} else {
			programs[i].omit(nil)
		}
	}
	inherited := slices.Clone(commands[0].Sections[0].Flags)
	commands[0].omit(nil)
	for i := range commands[1:] {
		commands[1+i].omit(inherited)
	}
	page, err := fill("flags.md", map[string]any{"Common": common, "Programs": append(programs, commands...)})
	return map[string]string{"flags.md": page}, err
}

// omit removes known flags, that for the help, and sections without others.
func (p *program) omit(known []flagHelp) {
	for i, s := range p.Sections {
		p.Sections[i].Flags = slices.DeleteFunc(s.Flags, func(f flagHelp) bool { return f.Name == "help" || slices.Contains(known, f) })
	}
	p.Sections = slices.DeleteFunc(p.Sections, func(s flagSection) bool { return len(s.Flags) == 0 })
}

// programs returns the programs of the providers with their flags: the manager of each provider, and what is in its folder cmd.
func programs(root string) ([]program, error) {
	var all []program
	for _, provider := range providers(root) {
		for _, pattern := range []string{"main.go", "cmd/*/main.go"} {
			mains, err := readSources(root, "providers/"+provider+"/"+pattern)
			if err != nil {
				return nil, err
			}
			for _, main := range mains {
				printed, err := help(root, path.Dir(main.path))
				if err != nil {
					return nil, err
				}
				name := "manager"
				if pattern != "main.go" {
					name = strings.ReplaceAll(path.Base(path.Dir(main.path)), "-", " ")
				}
				all = append(all, program{title(provider) + " " + name, parseHelp(printed)})
			}
		}
	}
	return all, nil
}

// plugin is the folder of the kubectl plugin, whose subcommands have flags of their own.
const plugin = "kubectl-fd"

// pluginCommands returns the plugin and its subcommands with their flags.
func pluginCommands(root string) ([]program, error) {
	printed, err := help(root, plugin)
	if err != nil {
		return nil, err
	}
	all := []program{{"kubectl fd", parseHelp(printed)}}
	_, listed, found := strings.Cut(printed, "Available Commands:\n")
	if !found {
		return nil, fmt.Errorf("the help of kubectl fd lists no commands:\n%s", printed)
	}
	listed, _, _ = strings.Cut(listed, "\n\n")
	for line := range strings.Lines(listed) {
		command := strings.Fields(line)[0]
		if command == "help" || command == "completion" { // These are not the plugin's own.
			continue
		}
		printed, err := help(root, plugin, command)
		if err != nil {
			return nil, err
		}
		all = append(all, program{"kubectl fd " + command, parseHelp(printed)})
	}
	return all, nil
}

// help returns the help of the program in a folder, or of its subcommand.
func help(root, folder string, command ...string) (string, error) {
	printed, err := runGo(filepath.Join(root, filepath.FromSlash(folder)), slices.Concat([]string{"run", "."}, command, []string{"--help"})...)
	if err == nil && len(parseHelp(printed)) == 0 {
		err = fmt.Errorf("the program in %s prints no flags:\n%s", folder, printed)
	}
	return printed, err
}

// runGo returns what the go command, or the program that it runs, prints in a folder.
func runGo(folder string, arguments ...string) (string, error) {
	run := exec.Command("go", arguments...) //nolint:noctx // the go command and programs of the repository, which end by themselves
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
	managers := slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return !p.IsManager() })
	return slices.DeleteFunc(slices.Clone(managers[0].Sections[0].Flags), func(f flagHelp) bool {
		return slices.ContainsFunc(managers, func(p program) bool { return !slices.Contains(p.Sections[0].Flags, f) })
	})
}
