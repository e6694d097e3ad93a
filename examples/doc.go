// Package examples holds programs to learn from: first, the one that
// docs/guide/first-application.md builds, and kvlog, a key-value log. Its test
// holds the guide's code against code that compiles.
package examples
