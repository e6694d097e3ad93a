package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newReport(_, _ io.Writer) *cobra.Command { return &cobra.Command{Use: "report", Hidden: true} }
