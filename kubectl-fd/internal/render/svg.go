// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Sizes in the picture, in pixels.
const (
	margin       = 16
	columnWidth  = 220
	columnGap    = 12
	boxHeight    = 26
	boxGap       = 6
	titleHeight  = 34
	headerHeight = 62
	// nameLength is the number of characters of a name that fit into a box.
	nameLength = 29
)

// SVG draws clusters below one another: a column for each failure domain, a box for each machine. It shows no ages, so that the
// same clusters result in the same picture.
func SVG(w io.Writer, clusters []report.Cluster) error {
	var body strings.Builder
	width, y := 3*columnWidth, margin
	for _, cluster := range clusters {
		height := svgCluster(&body, cluster, y)
		width, y = max(width, 2*margin+len(cluster.Domains)*(columnWidth+columnGap)-columnGap), y+height
	}
	y += svgLegend(&body, y)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" role="img">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#ffffff"/>
%s</svg>
`, width, y+margin, width, y+margin, html.EscapeString(svgTitle(clusters)), body.String())
	return err
}

func svgTitle(clusters []report.Cluster) string {
	names := make([]string, 0, len(clusters))
	for _, cluster := range clusters {
		names = append(names, cluster.Namespace+"/"+cluster.Name)
	}
	return "Failure domains of " + strings.Join(names, ", ")
}

// svgCluster draws one cluster at the vertical position y and returns its height.
func svgCluster(body *strings.Builder, c report.Cluster, y int) int {
	controlPlane, workers := c.Count()
	title := fmt.Sprintf("%s/%s: %s, %s", c.Namespace, c.Name,
		count(controlPlane, "control-plane machine", "control-plane machines"), count(workers, "worker", "workers"))
	if c.Skew != nil {
		title += fmt.Sprintf(", skew %d", *c.Skew)
	}
	svgText(body, margin, y+20, `font-size="16" font-weight="bold"`, title)
	if c.Problem != "" {
		svgText(body, margin, y+titleHeight+8, `fill="#b00020"`, c.Problem)
		y += 2 * boxGap
	}
	most := 0
	for _, domain := range c.Domains {
		most = max(most, len(domain.Machines))
	}
	height := headerHeight + most*(boxHeight+boxGap) + boxGap
	for i, domain := range c.Domains {
		svgDomain(body, domain, margin+i*(columnWidth+columnGap), y+titleHeight, height)
	}
	if len(c.Domains) == 0 {
		return titleHeight + 2*margin
	}
	return titleHeight + height + margin
}

func svgDomain(body *strings.Builder, d report.Domain, x, y, height int) {
	stroke, fill, state := svgState(d)
	fmt.Fprintf(body, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s" stroke-width="2"/>`+"\n", x, y, columnWidth, height, fill, stroke)
	svgText(body, x+10, y+22, `font-weight="bold"`, short(cmp.Or(d.Name, "no failure domain")))
	svgText(body, x+10, y+38, fmt.Sprintf(`fill="%s"`, stroke), short(state))
	svgText(body, x+10, y+54, `font-size="12" fill="#555555"`, short(d.Reason))
	for i, machine := range d.Machines {
		svgMachine(body, machine, x+10, y+headerHeight+i*(boxHeight+boxGap))
	}
}

// svgState returns the colours of a domain, and its state as text, because not every reader can distinguish the colours.
func svgState(d report.Domain) (stroke, fill, state string) {
	state = string(d.State)
	if d.Wanted != "" && d.Wanted != d.State {
		state += " → " + string(d.Wanted)
	}
	if d.Capacity != nil {
		state += fmt.Sprintf(", capacity for %d", *d.Capacity)
	}
	switch {
	case !d.Listed:
		return "#8e24aa", "#f6ecf8", "not listed by the cluster"
	case d.State == faultlinev1.DomainActive:
		return "#2e7d32", "#eef7ee", state
	case d.State == faultlinev1.DomainCordoned:
		return "#b26a00", "#fff6e5", state
	case d.State == faultlinev1.DomainEvicting:
		return "#b00020", "#fdecee", state
	}
	return "#666666", "#f2f2f2", "state unknown"
}

func svgMachine(body *strings.Builder, m report.Machine, x, y int) {
	role, name := "worker", m.Name
	if m.ControlPlane {
		role = "control plane"
	}
	if !m.Works() {
		name = string(m.State) + " " + name
	}
	svgBox(body, x, y, machineBox{fmt.Sprintf("%s, %s, %s", m.Name, role, m.State), short(name), m.ControlPlane, m.Works()})
}

// machineBox is the box of a machine.
type machineBox struct {
	title, text         string
	controlPlane, works bool
}

func svgBox(body *strings.Builder, x, y int, box machineBox) {
	fill, ink, border := "#c9d7f0", "#10243f", ""
	if box.controlPlane {
		fill, ink = "#1f4e8c", "#ffffff"
	}
	if !box.works {
		fill, ink, border = "#ffffff", "#b00020", ` stroke="#b00020" stroke-dasharray="4 2"`
	}
	fmt.Fprintf(body, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="3" fill="%s"%s/>`,
		html.EscapeString(box.title), x, y, columnWidth-20, boxHeight, fill, border)
	svgText(body, x+8, y+17, fmt.Sprintf(`font-size="12" fill="%s"`, ink), box.text)
	body.WriteString("</g>\n")
}

// svgLegend explains the colours of the boxes, and returns its height.
func svgLegend(body *strings.Builder, y int) int {
	for i, box := range []machineBox{
		{"legend", "control-plane machine", true, true}, {"legend", "worker", false, true}, {"legend", "waiting, failed or deleted", false, false},
	} {
		svgBox(body, margin+i*(columnWidth-10), y, box)
	}
	return boxHeight
}

func svgText(body *strings.Builder, x, y int, attributes, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(body, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, attributes, html.EscapeString(text))
}

func short(text string) string {
	if letters := []rune(text); len(letters) > nameLength {
		return string(letters[:nameLength-1]) + "…"
	}
	return text
}
