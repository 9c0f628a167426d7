// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// key is a label, annotation, finalizer or taint.
type key struct {
	Type, Name string
	// Objects have it, Does completes the sentence, and Folders define it.
	Objects, Does string
	Folders       []string
}

// Former returns the former name of the key, if it has one.
func (k key) Former() string { return faultlinev1.FormerName(k.Name) }

// labelsPage returns the page of the labels, annotations, finalizers and taints.
func labelsPage(root string) (map[string]string, error) {
	keys, err := readKeys(root)
	if err != nil {
		return nil, err
	}
	var by struct{ Ours, Providers, Others []key }
	for _, k := range keys {
		switch {
		case strings.Contains(k.Name, "faultline"):
			by.Ours = append(by.Ours, k)
		case strings.Contains(k.Name, "infrastructure.cluster.x-k8s.io"):
			by.Providers = append(by.Providers, k)
		default:
			by.Others = append(by.Others, k)
		}
	}
	page, err := fill("labels.md", by)
	return map[string]string{"labels.md": page}, err
}

// readKeys returns the keys of the code in the order of their names.
func readKeys(root string) ([]key, error) {
	all, err := constants(root)
	if err != nil {
		return nil, err
	}
	// The API packages first: their comments are for users.
	slices.SortStableFunc(all, func(a, b constant) int { return places(a.Folder) - places(b.Folder) })
	var keys []key
	for _, c := range all {
		if !isKey(c) {
			continue
		}
		k, err := readKey(c, all)
		if err != nil {
			return nil, err
		}
		same := slices.IndexFunc(keys, func(other key) bool { return other.Type == k.Type && other.Name == k.Name })
		switch {
		case same < 0:
			keys = append(keys, k)
		case keys[same].Objects != k.Objects && places(c.Folder) == 0: // The key has two meanings.
			keys = append(keys, k)
		default:
			keys[same].Folders = slices.Compact(slices.Sorted(slices.Values(append(keys[same].Folders, k.Folders...))))
		}
	}
	slices.SortStableFunc(keys, func(a, b key) int { return strings.Compare(a.Name+" "+a.Type, b.Name+" "+b.Type) })
	return keys, nil
}

// places orders folders: the API, then the code of providers, then the plugin.
func places(folder string) int {
	switch {
	case strings.HasPrefix(folder, "kubectl-fd"):
		return 2
	case strings.Contains(folder, "/api/"):
		return 0
	}
	return 1
}

// isKey reports whether a constant is a key: its name has the type, or its value a domain. The API version of an object looks alike, as do
// values that only name a key's domain; the comment of these states what they are.
func isKey(c constant) bool {
	switch {
	case strings.ContainsAny(c.Value, " <>:") || strings.HasSuffix(c.Name, "Reason") || strings.HasSuffix(c.Name, "Condition"):
		return false
	case typeByName(c.Name) == "" && regexp.MustCompile(`/v\d+(alpha\d+|beta\d+)?$|^(github\.com|sigs\.k8s\.io)/`).MatchString(c.Value):
		return false
	case regexp.MustCompile(`^\w+ is the (value|type|topology key|API version)\b`).MatchString(c.Doc):
		return false
	}
	return typeByName(c.Name) != "" && strings.ContainsAny(c.Value, "./") && c.Value != "metadata.labels" ||
		regexp.MustCompile(`^([a-z0-9-]+\.)+[a-z]+/[A-Za-z0-9._-]+$`).MatchString(c.Value)
}

func typeByName(name string) string {
	return strings.ToLower(regexp.MustCompile(`(?i)(label|annotation|finalizer)(prefix|legacy)?$`).ReplaceAllString(
		regexp.MustCompile(`(?i)(label|annotation|finalizer)(prefix|legacy)?$`).FindString(name), "$1"))
}

// readKey reads a key from the comment of its constant, which begins as this comment requires: NAME on OBJECTS VERB..., or, of a finalizer,
// NAME keeps OBJECT until... If the constant's name does not have the type, the comment has it.
func readKey(c constant, all []constant) (key, error) {
	k := key{Name: c.Value, Type: typeByName(c.Name), Folders: []string{part(c.Folder)}}
	if k.Type == "" {
		k.Type = regexp.MustCompile(`\b(label|annotation|finalizer|taint)\b`).FindString(c.Doc)
	}
	if strings.HasSuffix(c.Name, "Prefix") {
		k.Name += "…"
	}
	doc := strings.TrimPrefix(c.Doc, c.Name+" ")
	on := regexp.MustCompile(`^on (?:an? |the |every )?(.+?),? ((?:allows|excludes|has|holds|is|keeps|lists|marks|names|precedes|records|releases|reports|states|was|would)\b.*)$`)
	keeps := regexp.MustCompile(`^((?:blocks the deletion of|keeps|protects) (?:an? |the )?(.+?)(?:,| named| until| while|\.).*)$`)
	if found := on.FindStringSubmatch(doc); found != nil {
		k.Objects, k.Does = found[1], strings.TrimPrefix(found[2], "is ")
		if objects, with, found := strings.Cut(k.Objects, ", with "); found {
			k.Objects, k.Does = objects, "with "+with+": "+k.Does
		}
	} else if found := keeps.FindStringSubmatch(doc); found != nil {
		k.Objects, k.Does = found[2], found[1]
	}
	if k.Objects == "" || k.Type == "" {
		return key{}, fmt.Errorf("%s/%s: constant %s has the value %s of a label, annotation or finalizer, but its comment does not begin with "+
			"\"%s on OBJECT is\", or does not name the type: %q", c.Folder, c.File, c.Name, c.Value, c.Name, c.Doc)
	}
	k.Does = withValues(k.Does, c, all)
	k.Does = strings.ToUpper(k.Does[:1]) + k.Does[1:]
	return k, nil
}

// withValues replaces the names of constants of the same package in a comment by their values.
func withValues(doc string, of constant, all []constant) string {
	return regexp.MustCompile(`\b[A-Za-z]\w+\b`).ReplaceAllStringFunc(doc, func(word string) string {
		i := slices.IndexFunc(all, func(c constant) bool { return c.Folder == of.Folder && c.Name == word })
		if i < 0 || !strings.ContainsAny(word[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return word
		}
		return "`" + all[i].Value + "`"
	})
}

// part returns the part of the project that a folder belongs to.
func part(folder string) string {
	names := strings.Split(folder, "/")
	if names[0] == "providers" {
		return names[1]
	}
	return strings.ReplaceAll(names[0], "kubectl-fd", "kubectl fd")
}
