// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command machine-init makes a container look like a virtual machine to the programs that boot in it. It passes the guestinfo that the
// simulated vCenter put into the environment to cloud-init, gives the kubelet the machine's identity and the pods a network, and then
// executes the next program, which ends in systemd.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/faultline-io/faultline/e2e/tool"
)

const (
	// cloudVariable is set to "external" if an external cloud provider configures the Node, so that the kubelet uses only kubeadm's
	// cloud-provider arguments.
	cloudVariable = "FAULTLINE_CLOUD_PROVIDER"
	// identityVariable is the address of the service that returns the UUIDs of machines.
	identityVariable = "FAULTLINE_IDENTITY"
	identityFile     = "/etc/faultline-uuid"
	identityTimeout  = time.Minute
	identityPoll     = 200 * time.Millisecond
	longestAnswer    = 1 << 10
	// nameFile is the file in which cloud-init stores the hostname that it set.
	nameFile = "/var/lib/cloud/data/previous-hostname"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "machine-init:", err)
		os.Exit(1)
	}
}

// run returns only if the next program could not be started.
func run(next []string) error {
	if len(next) == 0 {
		return errors.New("the command to run is missing")
	}
	ctx, cancel := context.WithTimeout(context.Background(), identityTimeout)
	defer cancel()
	guestinfo, others := split(os.Environ())
	address, err := tool.OwnAddress()
	if err != nil {
		return fmt.Errorf("finding this machine's address: %w", err)
	}
	uuid, err := identity(ctx, identityFile, os.Getenv(identityVariable))
	if err != nil {
		return fmt.Errorf("finding this machine's identity: %w", err)
	}
	if err := rename(nameFile, "/etc/hostname"); err != nil {
		return fmt.Errorf("restoring the hostname: %w", err)
	}
	if err := configure(guestinfo, kubeletArguments(address, uuid, os.Getenv(cloudVariable) == "external"), address); err != nil {
		return err
	}
	if err := route(ctx, address); err != nil {
		return fmt.Errorf("adding routes to the pods of other machines: %w", err)
	}
	path, err := exec.LookPath(next[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, next, others)
}

// rename restores the hostname from before a power loss: Docker gives a container a new hostname at each start, and cloud-init sets the
// hostname only once.
func rename(from, to string) error {
	name, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // First boot.
	}
	if err != nil {
		return err
	}
	// Docker mounts the file: it can be written, but not replaced.
	return os.WriteFile(to, name, 0o644)
}

// configure writes the configuration of cloud-init, the kubelet and containerd.
func configure(guestinfo []string, kubelet string, address net.IP) error {
	for _, f := range []struct {
		path, content string
		mode          os.FileMode
	}{
		{"/etc/cloud/guestinfo.env", strings.Join(guestinfo, "\n") + "\n", 0o600}, // It contains the machine's user data.
		{"/etc/default/kubelet", kubelet, 0o644},
		{"/etc/cni/net.d/10-ptp.conflist", tool.PodNetwork(podSubnet(address.To4()[3])), 0o644},
	} {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(f.path, []byte(f.content), f.mode); err != nil {
			return err
		}
	}
	return nil
}

// identity returns the UUID that a machine would read from its firmware. It never changes, so only the first boot requests it from the
// simulated vCenter. A machine without a vCenter gets its identity from its metadata.
func identity(ctx context.Context, file, service string) (string, error) {
	if service == "" {
		return "", nil
	}
	known, err := os.ReadFile(file)
	if err == nil {
		return string(known), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	uuid, err := learn(ctx, service)
	if err != nil {
		return "", err
	}
	return uuid, os.WriteFile(file, []byte(uuid), 0o644)
}

// learn retries until it gets an answer: the simulator may need a moment to learn the machine's address.
func learn(ctx context.Context, service string) (string, error) {
	tick := time.NewTicker(identityPoll)
	defer tick.Stop()
	for {
		uuid, err := ask(ctx, service)
		if err == nil {
			return uuid, nil
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func ask(ctx context.Context, service string) (string, error) {
	body, err := tool.Get(ctx, http.DefaultClient, service+"/uuid")
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	uuid, err := io.ReadAll(io.LimitReader(body, longestAnswer))
	return string(uuid), err
}

// route adds routes to the pods of all other machines.
func route(ctx context.Context, address net.IP) error {
	cmd := exec.CommandContext(ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(routes(address))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
