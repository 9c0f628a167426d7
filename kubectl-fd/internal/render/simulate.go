// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

// Simulation prints the effect of a loss on clusters: one row each, then where lost machines could be replaced.
func Simulation(w io.Writer, outcomes []report.Outcome, style Style) error {
	t := &table{style: style}
	t.add(head("CLUSTER", "QUORUM", "CONTROL PLANE", "WORKERS", "CAPACITY LOST", "DOMAINS")...)
	for _, o := range outcomes {
		room := "no limit known"
		if o.Capacity != nil {
			room = strconv.Itoa(*o.Capacity)
		}
		t.add(cell{{o.Namespace + "/" + o.Name, bold}}, quorum(o.ControlPlane),
			plain(fmt.Sprintf("%d of %d lost", o.ControlPlane.Lost, o.ControlPlane.Members)),
			plain(fmt.Sprintf("%d of %d lost", o.WorkersLost, o.Workers)), plain(room), plain(strings.Join(o.Lost, ", ")))
	}
	for _, o := range outcomes {
		if n := o.ControlPlane.Unplaced; n > 0 {
			t.add(nil)
			t.add(cell{{o.Namespace + "/" + o.Name, bold}, {fmt.Sprintf(
				": the failure domain of %s is unknown and may be a lost one: find out where before you rely on the quorum",
				count(n, "control-plane machine that would work", "control-plane machines that would work")), yellow}})
		}
		if !o.ControlPlane.KeepsQuorum {
			t.add(nil)
			t.add(cell{{o.Namespace + "/" + o.Name, bold}, {fmt.Sprintf(
				": %d of %d control-plane machines would work, %d are needed: no machine can be replaced before etcd is restored",
				o.ControlPlane.Left, o.ControlPlane.Members, o.ControlPlane.Quorum), red}})
		}
	}
	if err := t.write(w); err != nil {
		return err
	}
	return replacements(w, outcomes, style)
}

func quorum(c report.ControlPlaneOutcome) cell {
	switch {
	case c.Members == 0:
		return plain("no control-plane machines")
	case c.KeepsQuorum:
		return cell{{fmt.Sprintf("kept: %d work, %d needed", c.Left, c.Quorum), green}}
	}
	return cell{{fmt.Sprintf("LOST: %d work, %d needed", c.Left, c.Quorum), red}}
}

func replacements(w io.Writer, outcomes []report.Outcome, style Style) error {
	t := &table{style: style}
	for _, o := range outcomes {
		for _, r := range o.Replacements {
			if len(t.rows) == 0 {
				t.add(nil)
				t.add(head("LOST MACHINE", "ROLE", "CLUSTER", "FROM", "POSSIBLE REPLACEMENT")...)
			}
			role := "worker"
			if r.ControlPlane {
				role = "control plane"
			}
			to := plain(r.To)
			if r.To == "" {
				to = cell{{cmp.Or(oneLine(r.Why), "nowhere"), yellow}}
			}
			t.add(plain(r.Machine), plain(role), plain(o.Namespace+"/"+o.Name), plain(r.From), to)
		}
	}
	return t.write(w)
}
