package report

// FailureSchema is the form of [Failure].
const FailureSchema = "nvmepass.error/1"

// Failure is the document of a command that ended before it had a result.
type Failure struct {
	Schema      string `json:"schema"`
	ToolVersion string `json:"tool_version"`
	// Command is the subcommand, such as "nvmepass run".
	Command string `json:"command"`
	// Error is what standard error says.
	Error string `json:"error"`
	// ExitCode is that of the process.
	ExitCode int `json:"exit_code"`
}
