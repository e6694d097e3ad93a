// Package docs_test keeps the pages true: links lead somewhere, commands and
// flags exist, and imports follow the layers that design.md shows.
package docs_test
