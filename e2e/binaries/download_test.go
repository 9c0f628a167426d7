// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/faultline-io/faultline/e2e/offline/programs"
	"github.com/faultline-io/faultline/e2e/tool"
)

// site serves an etcd that prints word, in the archive format of its project.
func site(t *testing.T, word string) (*sites, *atomic.Int64) {
	t.Helper()
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	content := tar.NewWriter(packed)
	if runtime.GOOS != "linux" {
		t.Skip("etcd is published in another form for " + runtime.GOOS)
	}
	folder := "etcd-v3.6.14-" + runtime.GOOS + "-" + runtime.GOARCH
	for name, text := range map[string]string{"/README.md": "read me", "/etcd": "#!/bin/sh\nprintf " + word + "\n"} {
		header := &tar.Header{Name: folder + name, Mode: 0o755, Size: int64(len(text))}
		if err := content.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := content.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if content.Close() != nil || packed.Close() != nil {
		t.Fatal("the archive is incomplete")
	}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch path.Base(r.URL.Path) {
		case folder + ".tar.gz":
			_, _ = w.Write(archive.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256(archive.Bytes())
	pinned := map[string]string{"v3.6.14/" + folder + ".tar.gz": hex.EncodeToString(sum[:])}
	return &sites{etcd: server.URL, kubernetes: server.URL, pinned: pinned}, &asked
}

func TestPublishedProgramIsDownloaded(t *testing.T) {
	b := repository(t, "built")
	b.Source = tool.SourceAuto
	b.sites, _ = site(t, "published")
	if got := runProgram(t, b, Etcd); got != "published" || strings.Contains(progress(b), "building") {
		t.Fatalf("it prints %q after\n%s", got, progress(b))
	}
	b.sites = &sites{}
	if got := runProgram(t, b, Etcd); got != "published" {
		t.Fatalf("the second time it prints %q", got)
	}
}

func TestChecksumMismatchFallsBackToBuild(t *testing.T) {
	b := repository(t, "built")
	b.Source = tool.SourceAuto
	b.sites, _ = site(t, "published")
	for file := range b.sites.pinned {
		b.sites.pinned[file] = strings.Repeat("1", 64)
	}
	if got := runProgram(t, b, Etcd); got != "built" || !strings.Contains(progress(b), "but the repository pins") {
		t.Fatalf("it prints %q after\n%s", got, progress(b))
	}
}

func TestUnpinnedFileIsNotRequested(t *testing.T) {
	b := repository(t, "built")
	b.Source = tool.SourceAuto
	var asked *atomic.Int64
	b.sites, asked = site(t, "published")
	b.sites.pinned = nil
	if got := runProgram(t, b, Etcd); got != "built" || asked.Load() != 0 {
		t.Fatalf("it prints %q after %d requests", got, asked.Load())
	}
}

func TestUnresponsiveServersAreRemembered(t *testing.T) {
	b := &Builder{}
	addresses := []string{"http://127.0.0.1:1/file", "http://127.0.0.1:2/file"}
	for _, address := range addresses {
		if err := b.fetch(t.Context(), release{url: address}, filepath.Join(t.TempDir(), "file")); err == nil || errors.Is(err, errSilent) {
			t.Fatalf("%s: %v", address, err)
		}
	}
	for _, address := range addresses {
		if err := b.fetch(t.Context(), release{url: address}, filepath.Join(t.TempDir(), "file")); !errors.Is(err, errSilent) {
			t.Fatalf("%s is asked again: %v", address, err)
		}
	}
}

func TestUnresponsiveServerFallsBackToBuild(t *testing.T) {
	b := repository(t, "built")
	b.Source = tool.SourceAuto
	b.sites, _ = site(t, "published")
	b.sites.etcd = "http://127.0.0.1:1"
	if got := runProgram(t, b, Etcd); got != "built" {
		t.Fatalf("it prints %q", got)
	}
	prints(t, b.Root, "e2e/offline/build/etcd", "again")
	if got := runProgram(t, b, Etcd); got != "again" || strings.Count(progress(b), "the download failed") != 1 {
		t.Fatalf("a site that did not respond receives another request:\n%s", progress(b))
	}
}

func TestPublishedOnlyFailsWithoutServer(t *testing.T) {
	b := repository(t, "built")
	b.Source = tool.SourcePublished
	b.sites, _ = site(t, "published")
	b.sites.etcd += "/none"
	if _, err := b.Ensure(t.Context(), Etcd); err == nil || !strings.Contains(err.Error(), "downloading etcd") {
		t.Fatalf("got error %v", err)
	}
}

func TestBuildOnlySendsNoRequests(t *testing.T) {
	b := repository(t, "built")
	var asked *atomic.Int64
	b.sites, asked = site(t, "published")
	if got := runProgram(t, b, Etcd); got != "built" || asked.Load() != 0 {
		t.Fatalf("it prints %q after %d requests", got, asked.Load())
	}
}

func TestKubernetesDownloadURLs(t *testing.T) {
	s := publicSites()
	for _, tc := range []struct{ name, os, want string }{
		{APIServer, "linux", "https://dl.k8s.io/release/v1.36.3/bin/linux/arm64/kube-apiserver"},
		{Kubectl, "darwin", "https://dl.k8s.io/release/v1.36.3/bin/darwin/arm64/kubectl"},
		{APIServer, "darwin", ""},
		{programs.Containerd, "linux", ""},
	} {
		got := released(s, tc.name, toolchain{os: tc.os, arch: "arm64"})
		switch {
		case tc.want == "" && got != nil:
			t.Errorf("%s for %s: got URL %s", tc.name, tc.os, got.url)
		case tc.want != "" && (got == nil || got.url != tc.want):
			t.Errorf("%s for %s: got %v", tc.name, tc.os, got)
		}
	}
}

// Built programs must have the version that would be downloaded.
func TestBuiltAndPublishedVersionsAgree(t *testing.T) {
	b, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		programs.KubernetesFolder: programs.KubernetesModule + " " + KubernetesVersion, programs.EtcdFolder: programs.EtcdModule + " " + EtcdVersion,
	} {
		pinned, err := os.ReadFile(filepath.Join(b.Root, folder, "go.mod"))
		if err != nil || !strings.Contains(string(pinned), want+"\n") {
			t.Errorf("%s does not require %s (%v)", folder, want, err)
		}
	}
}
