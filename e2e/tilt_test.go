// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
	"sigs.k8s.io/yaml"
)

// Tilt builds a provider only if the image is the one in its manifests, and watches only existing paths.
func TestTiltProvidersMatchRepository(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text, err := os.ReadFile("../tilt-provider.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var entries []struct {
		Name   string `json:"name"`
		Config struct {
			Context        string   `json:"context"`
			Image          string   `json:"image"`
			LiveReloadDeps []string `json:"live_reload_deps"`
			Label          string   `json:"label"`
		} `json:"config"`
	}
	g.Expect(yaml.UnmarshalStrict(text, &entries)).To(Succeed())
	var names []string
	for _, provider := range entries {
		names = append(names, provider.Name)
		folder := filepath.Join("..", provider.Config.Context)
		for _, watched := range provider.Config.LiveReloadDeps {
			g.Expect(filepath.Join(folder, watched)).To(Or(BeAnExistingFile(), BeADirectory()))
		}
		kustomization := struct {
			Images []struct {
				NewName string `json:"newName"`
			} `json:"images"`
		}{}
		text, err := os.ReadFile(filepath.Join(folder, "config", "default", "kustomization.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(text, &kustomization)).To(Succeed())
		g.Expect(kustomization.Images).To(ContainElement(HaveField("NewName", provider.Config.Image)))
	}
	g.Expect(names).To(ConsistOf(providers(t)), "every provider has an entry")
}

// tiltfile is the Tiltfile in the root of the repository.
const tiltfile = "../Tiltfile"

// Cluster API's Tiltfile includes ours. A stand-in for Tilt records its calls here.
func TestTiltfileMatchesRepository(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tilt := tiltStandIn{resources: map[string]map[string]starlark.Value{}}
	err := tilt.run(tiltfile)
	g.Expect(err).NotTo(HaveOccurred())
	want := []string{"test-shared", "test-kubectl-fd", "vcenter"}
	for _, name := range providers(t) {
		want = append(want, "test-"+name)
	}
	g.Expect(slices.Collect(maps.Keys(tilt.resources))).To(ConsistOf(want))
	makefile, err := os.ReadFile("../Makefile")
	g.Expect(err).NotTo(HaveOccurred())
	for name, resource := range tilt.resources {
		watched := resource["deps"].(*starlark.List)
		g.Expect(watched.Len()).To(BeNumerically(">", 0), name)
		for path := range watched.Elements() {
			g.Expect(filepath.Join("..", string(path.(starlark.String)))).To(BeADirectory(), name)
		}
		if name == "vcenter" {
			g.Expect(filepath.Join("..", string(resource["serve_dir"].(starlark.String)), "cmd/vcsim/main.go")).To(BeAnExistingFile())
			continue
		}
		target := string(resource["cmd"].(*starlark.List).Index(1).(starlark.String))
		g.Expect(string(makefile)).To(Or(ContainSubstring("\n"+target+":"), ContainSubstring(strings.SplitN(target, "/", 2)[0]+"/%:")))
	}
}

// tiltStandIn records the resources of a Tiltfile.
type tiltStandIn struct {
	resources map[string]map[string]starlark.Value // arguments by name
}

func (s tiltStandIn) run(file string) error {
	builtins := starlark.StringDict{
		"local_resource":      starlark.NewBuiltin("local_resource", s.localResource),
		"TRIGGER_MODE_MANUAL": starlark.MakeInt(1),
		"os":                  starlarkstruct.FromStringDict(starlark.String("os"), starlark.StringDict{"getenv": starlark.NewBuiltin("getenv", fallback)}),
	}
	_, err := starlark.ExecFileOptions(&syntax.FileOptions{TopLevelControl: true}, &starlark.Thread{Name: "tilt"}, file, nil, builtins)
	return err
}

func (s tiltStandIn) localResource(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	given := map[string]starlark.Value{}
	for _, argument := range named {
		given[string(argument[0].(starlark.String))] = argument[1]
	}
	s.resources[string(args[0].(starlark.String))] = given
	return starlark.None, nil
}

// fallback returns the default of an unset variable.
func fallback(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[1], nil
}

func TestTiltfileResult(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tilt, err := exec.LookPath("tilt")
	if err != nil {
		t.Skip("tilt is not installed")
	}
	out, err := exec.CommandContext(t.Context(), tilt, "alpha", "tiltfile-result", "--file", tiltfile).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
}
