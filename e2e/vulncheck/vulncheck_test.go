// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package vulncheck

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// printed is govulncheck's output for a program with a vulnerable function, a package without a linked vulnerable function, and a module
// that is only required.
const printed = `{"config": {"scan_mode": "binary"}}
{"osv": {"id": "GO-2026-0001", "summary": "Crash by a frame"}}
{"finding": {"osv": "GO-2026-0001", "fixed_version": "v0.60.0", "trace": [{"module": "golang.org/x/net", "version": "v0.57.0"}]}}
{"finding": {"osv": "GO-2026-0001", "fixed_version": "v0.60.0", "trace": [{"module": "golang.org/x/net", "version": "v0.57.0", "package": "golang.org/x/net/http2", "function": "ReadFrame", "receiver": "*Framer"}]}}
{"osv": {"id": "GO-2026-0002", "summary": "Not linked"}}
{"finding": {"osv": "GO-2026-0002", "trace": [{"module": "golang.org/x/net", "version": "v0.57.0", "package": "golang.org/x/net/html"}]}}
`

func TestLinkedVulnerableCodeFails(t *testing.T) {
	g := NewWithT(t)
	found, err := Read("manager", strings.NewReader(printed))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(1))
	g.Expect(check(found, nil, time.Now())).To(MatchError(
		"GO-2026-0001: Crash by a frame (golang.org/x/net v0.57.0 has golang.org/x/net/http2.ReadFrame; fixed in v0.60.0): manager"))
	g.Expect(check(append(found, Finding{Program: "load-balancer", ID: "GO-2026-0001"}), nil, time.Now())).To(MatchError(HaveSuffix(": manager, load-balancer")))
	g.Expect(check(nil, nil, time.Now())).To(Succeed())
}

func TestAllowanceExpires(t *testing.T) {
	g := NewWithT(t)
	found := []Finding{{Program: "manager", ID: "GO-2026-0001"}}
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for until, want := range map[string]string{"2026-12-31": "", "2026-11-30": "ended on 2026-11-30", "soon": "must have a reason and a date"} {
		err := check(found, []Allowed{{ID: "GO-2026-0001", Why: "nothing calls it", Until: until}}, now)
		if want == "" {
			g.Expect(err).NotTo(HaveOccurred())
			continue
		}
		g.Expect(err).To(MatchError(ContainSubstring(want)))
	}
	g.Expect(check(found, []Allowed{{ID: "GO-2026-0001", Until: "2026-12-31"}}, now)).To(MatchError(ContainSubstring("must have a reason")))
	g.Expect(check(nil, []Allowed{{ID: "GO-2026-0001", Why: "nothing calls it", Until: "2026-12-31"}}, now)).To(MatchError(ContainSubstring("remove its allowance")))
}

func TestMissingOutputFails(t *testing.T) {
	_, err := Read("manager", strings.NewReader(""))
	NewWithT(t).Expect(err).To(MatchError("govulncheck printed nothing about manager"))
}
