// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

// Plan prints the moves that a cluster needs, and why they are or are not made.
func Plan(w io.Writer, c report.Cluster, plans []report.Plan, style Style) error {
	t := &table{style: style}
	if c.Problem != "" {
		t.add(cell{{c.Problem, red}})
	}
	for i, p := range plans {
		if i > 0 {
			t.add(nil)
		}
		planOf(t, p)
	}
	return t.write(w)
}

func planOf(t *table, p report.Plan) {
	t.add(cell{{p.Of, bold}, {text: planned(p)}})
	for i, move := range p.Moves {
		if i == 0 {
			t.add(head("  MOVE", "MACHINE", "FROM", "TO")...)
		}
		t.add(plain("  "+strconv.Itoa(i+1)), plain(move.Machine), plain(cmp.Or(move.From, "(none)")), plain(move.To))
	}
	if p.Current != nil {
		t.add(cell{{"  moving ", yellow}, {text: moved(*p.Current) + age(", since ", t.style.ago(p.Current.Started))}})
	}
	if p.Condition != nil {
		in := green
		if p.Condition.Status != metav1.ConditionTrue {
			in = yellow
		}
		first, rest, _ := strings.Cut(p.Condition.Message, "\n")
		t.add(cell{{text: "  "}, {p.Condition.Type, in}, {text: " is " + string(p.Condition.Status) + ", " + explained(p.Condition.Reason, first)}})
		for line := range strings.Lines(rest) {
			t.add(plain("    " + oneLine(line)))
		}
	}
	for _, why := range p.Why {
		t.add(plain("  " + oneLine(why)))
	}
}

// planned returns the number of planned moves, and the source of the plan.
func planned(p report.Plan) string {
	if p.Source == "" {
		return ": no plan"
	}
	moves := "no move is"
	if len(p.Moves) > 0 {
		moves = count(len(p.Moves), "move is", "moves are")
	}
	from := "the controller's, from status.distribution"
	if p.Source == report.Calculated {
		from = "calculated here, because status.distribution has none"
	}
	return fmt.Sprintf(": %s planned (%s; rebalance: %s)", moves, from, p.Mode)
}
