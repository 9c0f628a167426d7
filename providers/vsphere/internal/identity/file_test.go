// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/identity"
)

func TestClusterWithoutIdentityUsesManagerFile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, _, _ := newResolver(t)
	r.Default = &identity.File{Path: filepath.Join(t.TempDir(), "credentials.yaml")}
	cluster := clusterIn("tenant-one", "", "")
	_, err := r.ForCluster(t.Context(), cluster)
	g.Expect(err).To(MatchError(identity.ErrNotUsable))
	g.Expect(err).To(MatchError(And(ContainSubstring("spec.identityRef"), ContainSubstring(r.Default.Path))))

	for _, password := range []string{"before", "after"} {
		write(g, r.Default.Path, "username: manager\npassword: "+password+"\n")
		got, err := r.ForCluster(t.Context(), cluster)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got.Username).To(Equal("manager"))
		g.Expect(got.Password).To(Equal(password))
	}
}

func TestManagerFileServers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := &identity.File{Path: filepath.Join(t.TempDir(), "credentials.yaml")}
	write(g, file.Path, "username: manager\npassword: s3cret\nservers: [vc.example.com]\n")
	account, err := file.Account()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(account.For("vc.example.com")).To(Succeed())
	g.Expect(account.For("mine.example.com")).To(MatchError(And(ContainSubstring(file.Path), ContainSubstring("mine.example.com"))))
}

func TestTenantThumbprintWithManagerAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := &identity.File{Path: filepath.Join(t.TempDir(), "credentials.yaml")}
	for servers, allowed := range map[string]bool{"": false, "servers: []\n": false, "servers: [vc.example.com]\n": true} {
		write(g, file.Path, "username: manager\npassword: s3cret\n"+servers)
		account, err := file.Account()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(account.Pinned("vc.example.com", "")).To(Succeed(), "no tenant vouches for the server")
		err = account.Pinned("vc.example.com", "AB:CD")
		if allowed {
			g.Expect(err).NotTo(HaveOccurred())
			continue
		}
		g.Expect(err).To(MatchError(identity.ErrNotUsable))
		g.Expect(err).To(MatchError(And(ContainSubstring(file.Path), ContainSubstring("key servers"), ContainSubstring("spec.identityRef"))))
	}
	g.Expect(identity.Account{Username: "one", Password: "own"}.Pinned("vc.example.com", "AB:CD")).To(Succeed(), "the account is the tenant's")
}

func TestUnusableFile(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty":       "",
		"no password": "username: s3cret\n",
		"no username": "password: s3cret\n",
		"no YAML":     "username: manager\npassword: s3cret: s3cret\n",
		"a list":      "- s3cret\n",
		"one server":  "username: s3cret\npassword: s3cret\nservers: vc.example.com\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			file := &identity.File{Path: filepath.Join(t.TempDir(), "credentials.yaml")}
			write(g, file.Path, content)
			_, err := file.Account()
			g.Expect(err).To(MatchError(identity.ErrNotUsable))
			g.Expect(err).To(MatchError(ContainSubstring(file.Path)))
			g.Expect(err).NotTo(MatchError(ContainSubstring("s3cret")))
		})
	}
}

// A Secret volume is a symlink to a directory that is replaced as a whole; the file itself is never written.
func TestProjectedSecretRotation(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	mount := t.TempDir()
	project := func(version, password string) {
		folder := filepath.Join(mount, version)
		g.Expect(os.Mkdir(folder, 0o700)).To(Succeed())
		write(g, filepath.Join(folder, "credentials.yaml"), "username: manager\npassword: "+password+"\n")
		g.Expect(os.Symlink(version, filepath.Join(mount, "..data_tmp"))).To(Succeed())
		g.Expect(os.Rename(filepath.Join(mount, "..data_tmp"), filepath.Join(mount, "..data"))).To(Succeed())
	}
	project("..1", "before")
	g.Expect(os.Symlink(filepath.Join("..data", "credentials.yaml"), filepath.Join(mount, "credentials.yaml"))).To(Succeed())

	changes := make(chan struct{}, 100)
	file := &identity.File{Path: filepath.Join(mount, "credentials.yaml"), OnChange: func() { changes <- struct{}{} }}
	stop := start(t, file)
	// The start of the watch cannot be observed: touch the directory until it reports an event.
	g.Eventually(func() chan struct{} {
		write(g, filepath.Join(mount, "unrelated"), "")
		return changes
	}, timeout).Should(Receive())
	project("..2", "after")
	g.Eventually(func() (string, error) {
		<-changes
		account, err := file.Account()
		return account.Password, err
	}, timeout).Should(Equal("after"))
	g.Expect(stop()).To(Succeed())
}

// A manager whose clusters all have an identityRef needs neither the file nor its directory.
func TestMissingCredentialsFolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := &identity.File{Path: filepath.Join(t.TempDir(), "missing", "credentials.yaml")}
	g.Expect(start(t, file)()).To(Succeed())
	_, err := file.Account()
	g.Expect(err).To(MatchError(identity.ErrNotUsable))
}

const timeout = time.Minute

// start watches the file until stop is called.
func start(t *testing.T, file *identity.File) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- file.Start(ctx) }()
	t.Cleanup(cancel)
	return func() error {
		cancel()
		return <-done
	}
}

func write(g *WithT, path, content string) {
	g.Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
}
