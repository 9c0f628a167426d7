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

// statement is a condition or reason. Link leads to what to do about a reason.
type statement struct{ Value, Description, Link string }

// stated is a group of conditions and reasons: those of a kind.
type stated struct {
	Heading             string
	Conditions, Reasons []statement
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
	type part struct {
		Heading, Part string
		Groups        []stated
	}
	parts := []part{{"All providers", "shared", grouped(all, "shared", nil, sections)}}
	for _, name := range providers(root) {
		crds, err := readCRDs(root, name)
		if err != nil {
			return nil, err
		}
		var kinds []string
		for _, crd := range crds {
			kinds = append(kinds, crd.Spec.Names.Kind)
		}
		parts = append(parts, part{title(name), name, grouped(all, path.Join("providers", name), kinds, sections)})
	}
	page, err := fill("conditions.md", parts)
	return map[string]string{"conditions.md": page}, err
}

// grouped returns the conditions and reasons below a folder by kind, in the order of the code.
func grouped(all []constant, folder string, kinds, sections []string) []stated {
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
			groups[i].Conditions = append(groups[i].Conditions, statement{Value: c.Value, Description: description(c, all)})
		} else {
			groups[i].Reasons = append(groups[i].Reasons, statement{c.Value, description(c, all), resolution(c.Value, heading, sections)})
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

// description returns the comment of a constant without its name, and with the values of other constants.
func description(c constant, all []constant) string {
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
