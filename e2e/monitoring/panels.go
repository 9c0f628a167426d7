// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"math"
	"strings"
)

// legendWidth is that of a name beside or below what it names.
const legendWidth = 150

// axisHeight is that of the axis of time with its words.
const axisHeight = 34

// stat draws the last value in large letters on the colour of its threshold.
func (p *picture) stat(panel Panel, area box, v view) {
	words, colour := "no data", "gray"
	if len(v.data) > 0 {
		if value, ok := last(v.data[0].Values); ok {
			words, colour = fmt.Sprintf("%.0f", value), panel.FieldConfig.Defaults.threshold(value)
		}
	}
	p.rect(area, fmt.Sprintf(`rx="4" fill="%s"`, shade(colour)))
	p.wrapped(box{x: area.x + padding, y: area.y + 20, w: area.w - 2*padding}, `fill="#ffffff" font-weight="bold"`, panel.Title)
	p.write(area.x+area.w/2, area.y+area.h/2+26, `fill="#ffffff" font-size="44" font-weight="bold" text-anchor="middle"`, words)
	if len(v.data) > 0 {
		p.write(area.x+area.w/2, area.y+area.h-padding, `fill="#ffffff" text-anchor="middle"`, v.data[0].Name)
	}
}

// threshold is the colour of a value.
func (d Defaults) threshold(value float64) string {
	colour := "gray"
	for _, step := range d.Thresholds.Steps {
		if step.Value == nil || value >= *step.Value {
			colour = step.Color
		}
	}
	return colour
}

// mapped are the words and the colour for a value.
func (d Defaults) mapped(value float64) (words, colour string) {
	words = fmt.Sprint(value)
	for _, mapping := range d.Mappings {
		if option, ok := mapping.Options[words]; ok {
			return option.Text, option.Color
		}
	}
	return words, "gray"
}

// shade is the colour that Grafana calls by a name, as kubectl fd draws it; white can be read on all of them.
func shade(name string) string {
	switch name {
	case "green":
		return "#2e7d32"
	case "orange":
		return "#b26a00"
	case "red":
		return "#b00020"
	case "blue":
		return "#1f4e8c"
	}
	return "#666666"
}

// colour is that of the line at a place in the legend. It is seen on white and on black.
func colour(place int) string {
	colours := strings.Fields("#3b7dd8 #9a63d8 #14a3a3 #d1589b #c9972b #7a8b99")
	return colours[place%len(colours)]
}

// run is a part of a line with one value.
type run struct {
	from, to int
	value    float64
}

// runs are the parts of a line that have a value.
func runs(values []float64) []run {
	var list []run
	for i, value := range values {
		switch {
		case math.IsNaN(value):
		case len(list) > 0 && list[len(list)-1].to == i && list[len(list)-1].value == value:
			list[len(list)-1].to = i + 1
		default:
			list = append(list, run{i, i + 1, value})
		}
	}
	return list
}

// timeline draws a row for each line, in the colours and words of its values.
func (p *picture) timeline(panel Panel, area box, v view) {
	plot := box{x: area.x + legendWidth, y: area.y + gap, w: area.w - legendWidth - padding, h: area.h - axisHeight - gap}
	height := plot.h / len(v.data)
	for i, line := range v.data {
		row := box{x: plot.x, y: plot.y + i*height, w: plot.w, h: height - 6}
		p.write(area.x, row.y+row.h/2+4, `class="ink"`, line.Name)
		for _, part := range runs(line.Values) {
			words, colour := panel.FieldConfig.Defaults.mapped(part.value)
			bar := box{x: v.column(plot, part.from), y: row.y, h: row.h}
			bar.w = v.column(plot, part.to) - bar.x
			p.rect(bar, fmt.Sprintf(`fill="%s"`, shade(colour)))
			if bar.w > labelWidth*len(words)+gap {
				p.write(bar.x+bar.w/2, bar.y+bar.h/2+4, `fill="#ffffff" text-anchor="middle"`, words)
			}
		}
	}
	p.time(plot, v)
}

// timeseries draws lines in steps, stacked if the panel says so, and their legend.
func (p *picture) timeseries(panel Panel, area box, v view) {
	custom := panel.FieldConfig.Defaults.Custom
	plot := box{x: area.x + 34, y: area.y + gap, w: area.w - 34 - padding, h: area.h - axisHeight - lineHeight - gap}
	bands := stack(v.data, custom.Stacking.Mode == "normal")
	most := 1
	for _, band := range bands {
		for _, value := range band.top {
			if !math.IsNaN(value) {
				most = max(most, int(math.Ceil(math.Round(value*100)/100)))
			}
		}
	}
	level := func(value float64) int { return plot.y + plot.h - int(math.Round(float64(plot.h)*value/float64(most))) }
	every := spacing(most)
	for value := 0; value <= most; value += every {
		p.line(plot.x, level(float64(value)), plot.x+plot.w, level(float64(value)), `class="grid"`)
		p.write(plot.x-6, level(float64(value))+4, `class="dim" font-size="10" text-anchor="end"`, fmt.Sprint(value))
	}
	p.upright(area.x+4, plot.y+plot.h/2, custom.AxisLabel)
	for i, band := range bands {
		p.band(i, band, plotted{area: plot, v: v, level: level, opacity: float64(custom.FillOpacity) / 100})
	}
	p.time(plot, v)
	p.legend(box{x: plot.x, y: area.y + area.h, w: plot.w}, v.data)
}

// band is what is between two lines: that of a value and that of what is below it.
type band struct{ bottom, top []float64 }

// stack puts lines on one another, or each on the ground.
func stack(lines []Named, stacked bool) []band {
	var bands []band
	var ground []float64
	for _, line := range lines {
		if ground == nil || !stacked {
			ground = make([]float64, len(line.Values))
		}
		b := band{bottom: ground, top: make([]float64, len(line.Values))}
		next := make([]float64, len(line.Values))
		for i, value := range line.Values {
			b.top[i], next[i] = ground[i]+value, ground[i]
			if !math.IsNaN(value) {
				next[i] += value
			}
		}
		bands, ground = append(bands, b), next
	}
	return bands
}

// plotted is how values become places in the picture.
type plotted struct {
	area    box
	v       view
	level   func(float64) int
	opacity float64
}

// band draws a band in steps, and leaves out where it has no value.
func (p *picture) band(place int, b band, on plotted) {
	var upper, lower []string
	flush := func() {
		if len(upper) > 0 {
			line := strings.Join(upper, " ")
			for i := len(lower) - 1; i >= 0; i-- {
				upper = append(upper, lower[i])
			}
			fmt.Fprintf(&p.body, `<polygon points="%s" fill="%s" fill-opacity="%.2f"/>`+"\n", strings.Join(upper, " "), colour(place), on.opacity)
			fmt.Fprintf(&p.body, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", line, colour(place))
		}
		upper, lower = nil, nil
	}
	for i := 0; i < len(b.top); {
		end := i + 1
		for end < len(b.top) && b.top[end] == b.top[i] && b.bottom[end] == b.bottom[i] {
			end++
		}
		if math.IsNaN(b.top[i]) {
			flush()
			i = end
			continue
		}
		from, to := on.v.column(on.area, i), on.v.column(on.area, end)
		upper = append(upper, fmt.Sprintf("%d,%d %d,%d", from, on.level(b.top[i]), to, on.level(b.top[i])))
		lower = append(lower, fmt.Sprintf("%d,%d %d,%d", to, on.level(b.bottom[i]), from, on.level(b.bottom[i])))
		i = end
	}
	flush()
}

// upright writes a word from below to above.
func (p *picture) upright(x, y int, text string) {
	p.write(x, y, fmt.Sprintf(`class="dim" font-size="10" text-anchor="middle" transform="rotate(-90 %d %d)"`, x, y), text)
}

// legend names the lines in their colours.
func (p *picture) legend(area box, lines []Named) {
	x := area.x
	for i, line := range lines {
		p.rect(box{x: x, y: area.y - 10, w: 10, h: 10}, fmt.Sprintf(`fill="%s"`, colour(i)))
		p.write(x+14, area.y-1, `class="ink" font-size="11"`, line.Name)
		x += 14 + len(line.Name)*labelWidth + padding
	}
}
