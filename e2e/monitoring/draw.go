// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Sizes of the picture, in pixels.
const (
	gridColumns = 24
	columnWidth = 50
	rowHeight   = 27
	gap         = 8
	margin      = 16
	padding     = 12
	titleHeight = 38
	lineHeight  = 18
	width       = 2*margin + gridColumns*columnWidth
	// stepColumns is in how many columns the steps of the story are listed.
	stepColumns = 3
)

// style has the colours for light and dark surroundings. What stands for a value has the same in both.
const style = `<style>
.page{fill:#f4f5f7}.panel{fill:#ffffff;stroke:#d8dbe0}.ink{fill:#1f2328}.dim{fill:#57606a}.grid{stroke:#e3e6ea}.mark{stroke:#8c959f}
@media (prefers-color-scheme: dark){
.page{fill:#0d1117}.panel{fill:#161b22;stroke:#30363d}.ink{fill:#e6edf3}.dim{fill:#9ea7b3}.grid{stroke:#262c34}.mark{stroke:#6e7681}
}
</style>
`

// Draw draws the panels of a dashboard of what was recorded. The same recording gives the same picture.
func Draw(ctx context.Context, w io.Writer, d Dashboard, r *Recording) error {
	steps, err := r.steps(ctx)
	if err != nil {
		return err
	}
	p := &picture{}
	top := header(p, d.Title, r.Name, steps)
	bottom := top
	for _, panel := range d.Panels {
		data, err := panel.Data(ctx, r)
		if err != nil {
			return err
		}
		area := box{
			x: margin + panel.GridPos.X*columnWidth, y: top + panel.GridPos.Y*rowHeight,
			w: panel.GridPos.W*columnWidth - gap, h: panel.GridPos.H*rowHeight - gap,
		}
		bottom = max(bottom, area.y+area.h)
		if err := p.panel(panel, area, view{data: data, steps: steps, recording: r}); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">
<title>%s</title>
%s<rect class="page" width="100%%" height="100%%"/>
%s</svg>
`, width-gap, bottom+margin, width-gap, bottom+margin, escape(d.Title), style, p.text())
	return err
}

// header draws the title, what was recorded and the list of steps. It returns where the panels begin.
func header(p *picture, title, name string, steps []storyStep) int {
	y := margin + 14
	p.write(margin, y, `class="ink" font-size="18" font-weight="bold"`, title)
	if name != "" {
		y += lineHeight + 2
		p.write(margin, y, `class="dim"`, "recorded from "+name)
	}
	rows := (len(steps) + stepColumns - 1) / stepColumns
	for i, step := range steps {
		x := margin + i/rows*(gridColumns*columnWidth/stepColumns)
		below := y + 6 + lineHeight*(i%rows+1)
		p.number(x+radius, below-4, step.number)
		p.write(x+22, below, `class="ink"`, step.name)
	}
	return y + lineHeight*rows + margin + gap
}

// storyStep is a step of the story that was recorded.
type storyStep struct {
	number, name string
	// first is the scrape at which it went on for the first time.
	first int
}

// view is what a panel is drawn of.
type view struct {
	data      []Named
	steps     []storyStep
	recording *Recording
}

// box is a rectangle of the picture.
type box struct{ x, y, w, h int }

// panel draws a panel.
func (p *picture) panel(panel Panel, area box, v view) error {
	p.open(panel.Title + ": " + panel.Description)
	defer p.shut()
	if panel.Type == "stat" {
		p.stat(panel, area, v)
		return nil
	}
	p.rect(area, `class="panel" rx="4"`)
	p.write(area.x+padding, area.y+20, `class="ink" font-weight="bold"`, panel.Title)
	inner := box{x: area.x + padding, y: area.y + titleHeight, w: area.w - 2*padding, h: area.h - titleHeight - padding}
	if len(v.data) == 0 {
		p.write(area.x+area.w/2, area.y+area.h/2, `class="dim" text-anchor="middle"`, "no data")
		return nil
	}
	switch panel.Type {
	case "state-timeline":
		p.timeline(panel, inner, v)
	case "timeseries":
		p.timeseries(panel, inner, v)
	default:
		return fmt.Errorf("drawing panel %q: there is no way to draw a panel of type %q", panel.Title, panel.Type)
	}
	return nil
}

// picture is an SVG that grows.
type picture struct{ body strings.Builder }

func (p *picture) text() string { return p.body.String() }

// open begins a group with words that are shown where a pointer rests; shut ends it.
func (p *picture) open(words string) { fmt.Fprintf(&p.body, "<g><title>%s</title>\n", escape(words)) }
func (p *picture) shut()             { p.body.WriteString("</g>\n") }

func (p *picture) rect(b box, attributes string) {
	fmt.Fprintf(&p.body, `<rect x="%d" y="%d" width="%d" height="%d" %s/>`+"\n", b.x, b.y, b.w, b.h, attributes)
}

func (p *picture) line(x1, y1, x2, y2 int, attributes string) {
	fmt.Fprintf(&p.body, `<line x1="%d" y1="%d" x2="%d" y2="%d" %s/>`+"\n", x1, y1, x2, y2, attributes)
}

func (p *picture) write(x, y int, attributes, text string) {
	fmt.Fprintf(&p.body, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, attributes, escape(text))
}

// number draws the number of a step in a circle.
func (p *picture) number(x, y int, number string) {
	fmt.Fprintf(&p.body, `<circle cx="%d" cy="%d" r="%d" fill="#57606a"/>`+"\n", x, y, radius)
	p.write(x, y+4, `fill="#ffffff" font-size="10" text-anchor="middle"`, number)
}

// wrapped writes words on as many lines as they need.
func (p *picture) wrapped(area box, attributes, text string) {
	line, y := "", area.y
	for _, word := range strings.Fields(text) {
		if line != "" && (len(line)+1+len(word))*boldWidth > area.w {
			p.write(area.x, y, attributes, line)
			line, y = "", y+lineHeight-2
		}
		line = strings.TrimSpace(line + " " + word)
	}
	p.write(area.x, y, attributes, line)
}
