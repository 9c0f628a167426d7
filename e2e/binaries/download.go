// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/faultline-io/faultline/e2e/offline/programs"
	"github.com/faultline-io/faultline/e2e/tool"
)

// SourceVariable selects whether programs are downloaded or built: auto, build or published.
const SourceVariable = "FAULTLINE_BINARIES"

const (
	// answerTimeout is short, because a site behind a firewall often does not answer at all.
	answerTimeout = 5 * time.Second
	// downloadTimeout allows for the largest program on a slow connection.
	downloadTimeout = 15 * time.Minute
)

// sites are the addresses of published programs.
type sites struct {
	kubernetes, etcd string
	// pinned maps paths below a site to the SHA-256 of the files. A file without an entry is not downloaded; its program is built from
	// modules, which go.sum pins.
	pinned map[string]string
}

func publicSites() sites {
	return sites{
		kubernetes: "https://dl.k8s.io/release",
		etcd:       "https://github.com/etcd-io/etcd/releases/download",
		pinned: map[string]string{
			"v1.36.3/bin/linux/amd64/kubectl":         "ebbd080e7c2e275093b55915722043257eb24004363e20acb3c4d71919f88336",
			"v3.6.14/etcd-v3.6.14-linux-amd64.tar.gz": "ffe840ff9295808e88cce2794a18a5ac87f12a5203c8314d0bf6aa119b41bac5",
		},
	}
}

// release is the download of a published program.
type release struct {
	url string
	// pinned is the SHA-256 that the repository has pinned; "" if none.
	pinned string
	// member is the program's name in the archive; "" if the download is not an archive.
	member string
}

// published returns the release of a program, or nil if none is published for this system or its checksum is not pinned. For systems
// other than Linux, Kubernetes publishes only kubectl, and etcd another archive.
func published(s sites, name string, t toolchain) *release {
	r := released(s, name, t)
	if r == nil || r.pinned == "" {
		return nil
	}
	return r
}

func released(s sites, name string, t toolchain) *release {
	kubernetes := []string{APIServer, ControllerManager, Kubectl, programs.Kubeadm, programs.Kubelet, programs.Scheduler, programs.Proxy}
	switch {
	case name == Kubectl || t.os == "linux" && slices.Contains(kubernetes, name):
		file := fmt.Sprintf("%s/bin/%s/%s/%s", KubernetesVersion, t.os, t.arch, name)
		return &release{url: s.kubernetes + "/" + file, pinned: s.pinned[file]}
	case name == Etcd && t.os == "linux":
		folder := fmt.Sprintf("etcd-%s-%s-%s", EtcdVersion, t.os, t.arch)
		file := EtcdVersion + "/" + folder + ".tar.gz"
		return &release{url: s.etcd + "/" + file, pinned: s.pinned[file], member: folder + "/" + name}
	}
	return nil
}

// download downloads a published program into the file fresh. It returns false if the program must be built: because the user requested
// it, because it is not published, or because the download is not possible.
func (b *Builder) download(ctx context.Context, p program, t toolchain, fresh string) (done bool, err error) {
	if b.Source == tool.SourceBuild {
		return false, nil
	}
	s := publicSites()
	if b.sites != nil {
		s = *b.sites
	}
	r := published(s, p.Name, t)
	if r == nil {
		return false, nil
	}
	err = b.fetch(ctx, *r, fresh)
	if err == nil {
		b.progressf("downloaded %s", r.url)
		return true, nil
	}
	if b.Source == tool.SourcePublished || ctx.Err() != nil {
		return false, fmt.Errorf("downloading %s: %w", p.Name, err)
	}
	if !errors.Is(err, errSilent) {
		b.progressf("building %s, because the download failed: %v", p.Name, err)
	}
	return false, errors.Join(os.RemoveAll(fresh), os.RemoveAll(fresh+".archive"))
}

// errSilent is returned for a site that did not answer before.
var errSilent = errors.New("the server does not respond")

// fetch downloads a release and verifies it. It tries a site that does not answer only once.
func (b *Builder) fetch(ctx context.Context, r release, fresh string) error {
	host := r.url
	if address, err := url.Parse(r.url); err == nil {
		host = address.Host
	}
	b.mutex.Lock()
	silent := b.silent[host]
	b.mutex.Unlock()
	if silent {
		return errSilent
	}
	into := fresh
	if r.member != "" {
		into = fresh + ".archive"
	}
	err := save(ctx, r.url, r.pinned, into)
	var failed *url.Error
	if errors.As(err, &failed) {
		b.mutex.Lock()
		if b.silent == nil {
			b.silent = map[string]bool{}
		}
		b.silent[host] = true
		b.mutex.Unlock()
	}
	if err != nil || r.member == "" {
		return err
	}
	return errors.Join(unpack(into, r.member, fresh), os.Remove(into))
}

// client returns a client that waits only shortly for an answer.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: answerTimeout}).DialContext,
		TLSHandshakeTimeout: answerTimeout, ResponseHeaderTimeout: answerTimeout,
	}}
}

// save downloads a file and verifies its SHA-256.
func save(ctx context.Context, address, sum, into string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	body, err := tool.Get(ctx, client(), address)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	file, err := os.OpenFile(into, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, hash), body); err != nil {
		return err
	}
	if have := hex.EncodeToString(hash.Sum(nil)); have != sum {
		return fmt.Errorf("%s has the SHA-256 %s, but the repository pins %s", address, have, sum)
	}
	return nil
}

// unpack writes one member of a compressed archive to a file.
func unpack(archive, member, into string) (err error) {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	content, err := tool.Member(file, func(name string) bool { return name == member })
	if err != nil {
		return fmt.Errorf("finding %s in %s: %w", member, archive, err)
	}
	out, err := os.OpenFile(into, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, content) //nolint:gosec // The SHA-256 of the archive is pinned.
	return err
}
