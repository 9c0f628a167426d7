// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/faultline-io/faultline/e2e/tool"
)

const (
	// tools is the folder of the module that pins Hugo and the theme.
	tools = "e2e/build/hugo"
	theme = "github.com/imfing/hextra"
)

// overrides has what the site adds to the theme.
//
//go:embed all:hugo
var overrides embed.FS

// Site is the documentation of one version.
type Site struct {
	// Root is the root directory of the repository.
	Root string
	// Version is the version that the pages describe, and the tag to which links to the source lead.
	Version string
	// BaseURL is the address below which the versions are served.
	BaseURL string
	// Out is the directory with a folder for each version.
	Out string
	// Log receives the output of Hugo.
	Log io.Writer
}

// Build writes the site and returns its folder.
func (s Site) Build(ctx context.Context) (string, error) {
	source, err := os.MkdirTemp("", "site")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(source) }()
	address := strings.TrimSuffix(s.BaseURL, "/") + "/" + s.Version + "/"
	parsed, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	hugo := tool.Module{Folder: filepath.Join(s.Root, filepath.FromSlash(tools))}
	folder, _, err := hugo.Download(ctx, theme)
	if err != nil {
		return "", err
	}
	settings, err := fill("hugo.json", map[string]string{
		"Address": address, "Version": s.Version, "Themes": filepath.Dir(folder), "Theme": filepath.Base(folder), "Repository": repository,
	})
	if err != nil {
		return "", err
	}
	if err := s.write(source, settings); err != nil {
		return "", err
	}
	built := filepath.Join(source, "public")
	hugo.Log = s.Log
	printed, err := hugo.Go(ctx, "run", "github.com/gohugoio/hugo", "--source="+source, "--noBuildLock")
	if err != nil {
		return "", err
	}
	if err := warnings(printed); err != nil {
		return "", err
	}
	if err := check(os.DirFS(built), parsed.Path); err != nil {
		return "", err
	}
	return s.publish(built)
}

// warnings returns the warnings in the output of Hugo as an error, for example about HTML in a page. The theme causes those about deprecations.
func warnings(printed string) error {
	var errs []error
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "WARN") && !strings.Contains(line, "deprecated:") {
			errs = append(errs, errors.New(strings.TrimSpace(line)))
		}
	}
	return errors.Join(errs...)
}

// publish replaces the folder of the version, and writes what all versions share.
func (s Site) publish(built string) (string, error) {
	folder := filepath.Join(s.Out, s.Version)
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.Out, 0o755); err != nil {
		return "", err
	}
	if err := os.CopyFS(folder, os.DirFS(built)); err != nil {
		return "", err
	}
	versions, err := versions(s.Out)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(versions)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(s.Out, "versions.json"), text, 0o644); err != nil {
		return "", err
	}
	redirect := fmt.Sprintf("<!doctype html><title>Faultline</title><meta http-equiv=\"refresh\" content=\"0; url=%s/\">\n", versions[0])
	return folder, os.WriteFile(filepath.Join(s.Out, "index.html"), []byte(redirect), 0o644)
}

// versions returns the names of the folders, the newest version first. Other names follow.
func versions(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return semver.Compare(b, a) }) // Other names are less than any version.
	return names, nil
}

// write writes the source of the site for Hugo, with its configuration.
func (s Site) write(folder, settings string) error {
	generated, err := Reference(s.Root)
	if err != nil {
		return err
	}
	pages, err := load(s.Root, generated)
	if err != nil {
		return err
	}
	files, err := s.render(pages)
	if err != nil {
		return err
	}
	files["hugo.json"] = []byte(settings)
	for name, text := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	added, err := fs.Sub(overrides, "hugo")
	if err != nil {
		return err
	}
	return os.CopyFS(folder, added)
}

// render returns the files of Hugo's source for the pages, and the images that they show.
func (s Site) render(pages []page) (map[string][]byte, error) {
	files := map[string][]byte{}
	links := newLinks(s.Root, s.Version, pages)
	for _, p := range pages {
		text, err := links.rewrite(p)
		if err != nil {
			return nil, err
		}
		if strings.Contains(text, "{{<") || strings.Contains(text, "{{%") {
			return nil, fmt.Errorf("%s contains a shortcode of Hugo, which it does not show as text", p.File)
		}
		front, err := encode(p.front())
		if err != nil {
			return nil, err
		}
		files[p.source(pages)] = append(front, "\n"+text...)
	}
	for image := range links.images {
		text, err := os.ReadFile(filepath.Join(s.Root, filepath.FromSlash(image)))
		if err != nil {
			return nil, err
		}
		files["static/"+image] = text
	}
	// The theme's menu has only pages below the home page, so an entry that is not rendered links to it.
	home, err := encode(map[string]any{"title": "Introduction", "url": "/", "weight": 1, "build": map[string]string{"render": "link"}})
	files["content/introduction.md"] = home
	return files, err
}

// front returns the front matter of a page.
func (p page) front() map[string]any {
	front := map[string]any{"title": p.Title, "linkTitle": p.Name, "weight": p.Weight, "editURL": p.origin()}
	if p.Path == "" {
		front["type"], front["cascade"] = "docs", map[string]string{"type": "docs"}
	}
	return front
}

// origin returns the address to edit the page: its file, or the code that generates it.
func (p page) origin() string {
	if p.File == "" || p.Generated {
		return repository + "/tree/main/e2e/site"
	}
	return repository + "/edit/main/" + p.File
}

// source returns the file of a page in Hugo's source: a page with pages below it is a folder.
func (p page) source(pages []page) string {
	for _, other := range pages {
		if other.Path != p.Path && (p.Path == "" || strings.HasPrefix(other.Path, p.Path+"/")) {
			return path.Join("content", p.Path, "_index.md")
		}
	}
	return path.Join("content", p.Path+".md")
}

func encode(value any) ([]byte, error) { return json.MarshalIndent(value, "", "  ") }
