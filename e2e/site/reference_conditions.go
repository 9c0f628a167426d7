// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// troubleshooting is the page that describes what to do about reasons.
const troubleshooting = "troubleshooting.md"

// stated is a group of conditions and reasons: those of a kind.
type stated struct {
	Heading             string
	Conditions, Reasons []constant
}

// conditionsPage returns the page of the conditions, and of the reasons of conditions and events.
func conditionsPage(root string) (map[string]string, error) {
	all, err := constants(root)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(root, "docs", troubleshooting))
	if err != nil {
		return nil, err
	}
	sections := strings.Split(string(content), "\n## ")[1:]
	var b strings.Builder
	fmt.Fprintf(&b, "# Conditions and reasons\n\nThe condition types, and the reasons of conditions and events, from the code. "+
		"A reason has a link if [troubleshooting](%s) describes what to do about it. "+
		"Objects also have conditions of Cluster API, such as `Paused`.\n", troubleshooting)
	b.WriteString("\n## All providers\n")
	for _, group := range grouped(all, "shared", nil) {
		b.WriteString(group.markdown("shared", sections, all))
	}
	for _, name := range providers(root) {
		crds, err := readCRDs(root, name)
		if err != nil {
			return nil, err
		}
		var kinds []string
		for _, crd := range crds {
			kinds = append(kinds, crd.Spec.Names.Kind)
		}
		fmt.Fprintf(&b, "\n## %s\n", title(name))
		for _, group := range grouped(all, path.Join("providers", name), kinds) {
			b.WriteString(group.markdown(name, sections, all))
		}
	}
	return map[string]string{"conditions.md": b.String()}, nil
}

// grouped returns the conditions and reasons below a folder by kind, in the order of the code.
func grouped(all []constant, folder string, kinds []string) []stated {
	var groups []stated
	for _, c := range all {
		condition := strings.HasSuffix(c.Name, "Condition")
		reason := strings.HasSuffix(c.Name, "Reason") || strings.HasPrefix(strings.ToLower(c.Name), "reason")
		if !strings.HasPrefix(c.Folder+"/", folder+"/") || !condition && !reason {
			continue
		}
		heading := headingOf(c, kinds)
		i := slices.IndexFunc(groups, func(s stated) bool { return s.Heading == heading })
		if i < 0 {
			i = len(groups)
			groups = append(groups, stated{Heading: heading})
		}
		if condition {
			groups[i].Conditions = append(groups[i].Conditions, c)
		} else {
			groups[i].Reasons = append(groups[i].Reasons, c)
		}
	}
	return groups
}

// headingOf returns the kind that a file or package of the code is about, or what else the file has.
func headingOf(c constant, kinds []string) string {
	isAPI := strings.Contains(c.Folder, "/api/")
	subject := strings.SplitN(strings.TrimSuffix(c.File, ".go"), "_", 2)[0]
	if !isAPI && path.Base(c.Folder) != "controllers" { // a package of several kinds
		subject = path.Base(c.Folder)
	}
	kind := slices.IndexFunc(kinds, func(kind string) bool { return strings.HasSuffix(strings.ToLower(kind), subject) })
	switch {
	case kind >= 0 && (isAPI || strings.Contains(c.Folder, "/loadbalancer/")):
		return kinds[kind]
	case !isAPI:
		return "Events"
	case subject == "upstream":
		return "Not used"
	case subject == "failuredomain":
		return "Failure domains"
	}
	return "All kinds"
}

// markdown returns the tables of a group.
func (group stated) markdown(provider string, sections []string, all []constant) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s\n", title(provider), group.Heading)
	if group.Heading == "Not used" {
		b.WriteString("\nThe provider does not set these under these names. They exist for code that compiles against the API of upstream's provider.\n")
	}
	if len(group.Conditions) > 0 {
		rows := make([][]string, len(group.Conditions))
		for i, c := range group.Conditions {
			rows[i] = []string{code(c.Value), text(statement(c, all))}
		}
		b.WriteString("\n" + table([]string{"Condition", "Description"}, rows))
	}
	if len(group.Reasons) > 0 {
		rows := make([][]string, len(group.Reasons))
		for i, c := range group.Reasons {
			rows[i] = []string{code(c.Value), text(statement(c, all)), resolution(c.Value, group.Heading, sections)}
		}
		b.WriteString("\n" + table([]string{"Reason", "Description", "What to do"}, rows))
	}
	return b.String()
}

// statement returns the comment of a constant without its name, and with the values of other constants.
func statement(c constant, all []constant) string {
	doc := withValues(strings.TrimPrefix(strings.TrimPrefix(c.Doc, c.Name+" "), "is "), c, all)
	if doc == "" {
		return ""
	}
	return strings.ToUpper(doc[:1]) + doc[1:]
}

// resolution returns a link to the section of troubleshooting that describes a reason: that of the kind, else the first one.
func resolution(reason, kind string, sections []string) string {
	link := ""
	for _, section := range sections {
		heading, body, _ := strings.Cut(section, "\n")
		if !strings.Contains(body, "`"+reason+"`") {
			continue
		}
		if link == "" || strings.Contains(heading, kind) {
			link = fmt.Sprintf("[%s](%s#%s)", heading, troubleshooting, anchorOf(heading))
		}
		if strings.Contains(heading, kind) {
			break
		}
	}
	return link
}
