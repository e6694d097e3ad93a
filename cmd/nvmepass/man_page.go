package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manPage is the page of c, in the macros of man(7). It is made here and not by
// cobra/doc, which reads help texts as Markdown: they are plain text, whose columns
// and indented blocks that would run together.
func manPage(c *cobra.Command, date string) string {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	r := &roff{}
	r.line(`.TH %s 1 "%s" "%s" "%s"`, roffText(strings.ToUpper(manName(c))), roffText(date),
		roffText(c.Root().Name()+" "+toolVersion()), roffText(c.Root().Name()+" manual"))
	r.section("NAME")
	r.text(manName(c) + ` \- ` + roffText(c.Short))
	r.section("SYNOPSIS")
	r.text(synopsis(c))
	if len(c.Aliases) > 0 {
		r.line(".PP")
		r.text("Other names of " + bold(c.Name()) + ": " + bold(strings.Join(c.Aliases, ", ")))
	}
	r.section("DESCRIPTION")
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	r.prose(long)
	if subs := manCommands(c); len(subs) > 0 {
		r.section("COMMANDS")
		for _, sub := range subs {
			r.line(".TP")
			r.text(bold(manName(sub)) + "(1)")
			r.text(roffText(sub.Short))
		}
	}
	r.section("OPTIONS")
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		r.line(".TP")
		r.text(optionHead(f))
		r.text(roffText(optionText(f)))
	})
	if c.Example != "" {
		r.section("EXAMPLES")
		r.examples(c.Example)
	}
	r.section("EXIT STATUS")
	for _, s := range exitStatuses(c) {
		r.line(".TP")
		r.text(bold(fmt.Sprint(s.code)))
		r.text(roffText(s.means))
	}
	r.section("SEE ALSO")
	r.text(seeAlso(c))
	return r.b.String()
}

var placeholder = regexp.MustCompile(`[A-Z]{2,}`)

// synopsis is the usage line with the command in bold and what stands for
// something else in italics.
func synopsis(c *cobra.Command) string {
	rest := strings.TrimPrefix(c.UseLine(), c.CommandPath())
	return bold(c.CommandPath()) + placeholder.ReplaceAllString(roffText(rest), `\fI$0\fR`)
}

func optionHead(f *pflag.Flag) string {
	head := bold("--" + f.Name)
	if f.Shorthand != "" {
		head = bold("-"+f.Shorthand) + ", " + head
	}
	if name, _ := pflag.UnquoteUsage(f); name != "" {
		head += ` \fI` + roffText(name) + `\fR`
	}
	return head
}

// optionText is the option's usage, with the default unless that says it already
// or it is nothing.
func optionText(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
		return text
	}
	if strings.Contains(text, "(default") {
		return text
	}
	return strings.TrimSpace(text + " (default " + f.DefValue + ")")
}

// seeAlso names the page above; on the first one, the tools that this one's
// readers know.
func seeAlso(c *cobra.Command) string {
	if c.HasParent() {
		return bold(manName(c.Parent())) + "(1)"
	}
	return bold("fio") + "(1), " + bold("nvme") + "(1), " + bold("io_uring") + "(7)"
}

// roff collects the lines of a page.
type roff struct{ b strings.Builder }

func (r *roff) line(format string, args ...any) {
	fmt.Fprintf(&r.b, format+"\n", args...)
}

func (r *roff) section(name string) { r.line(".SH %s", name) }

// text writes a line of text that is escaped already; no control line can come of it.
func (r *roff) text(s string) {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	r.line("%s", s)
}

// prose writes a help text: paragraphs are filled, and indented lines stay as they are.
func (r *roff) prose(s string) {
	indented, first := false, true
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		trimmed := strings.TrimLeft(line, " \t")
		switch isIndented := trimmed != "" && trimmed != line; {
		case isIndented && !indented:
			r.line(".PP\n.nf")
			indented = true
		case !isIndented && indented:
			r.line(".fi")
			indented = false
			if trimmed != "" {
				r.line(".PP")
			}
		}
		switch {
		case indented:
			r.text(roffText(strings.ReplaceAll(line, "\t", "  ")))
		case trimmed == "":
			first = true
			continue
		default:
			if first && !strings.HasSuffix(r.b.String(), ".SH DESCRIPTION\n") {
				r.line(".PP")
			}
			r.text(roffText(strings.TrimLeft(trimmed, "# "))) // cobra's own texts have Markdown headings
		}
		first = false
	}
	if indented {
		r.line(".fi")
	}
}

var column = regexp.MustCompile(`\s{2,}`)

// examples writes each command below what it does, which help shows to its right.
func (r *roff) examples(s string) {
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		r.line(".PP")
		parts := column.Split(line, 2)
		if len(parts) == 2 {
			r.text(roffText(parts[1]) + ":")
			r.line(".PP")
		}
		r.line(".nf\n.RS")
		r.text(roffText(parts[0]))
		r.line(".RE\n.fi")
	}
}

func bold(s string) string { return `\fB` + roffText(s) + `\fR` }

// What roff would set as typographic signs are characters of command lines here.
var roffSigns = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`)

// roffText escapes text so that it comes out as it is.
func roffText(s string) string {
	s = roffSigns.Replace(s)
	var b strings.Builder
	for _, c := range s {
		if c > 0x7e {
			fmt.Fprintf(&b, `\[u%04X]`, c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
