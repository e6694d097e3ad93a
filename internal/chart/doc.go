// Package chart draws bar, line and interval charts as SVG, without scripts,
// fonts or anything else from outside the file.
//
// A chart is laid out once into a [Scene] of plain shapes that carry style
// classes and no colours. [Scene.SVG] writes it for a page that brings
// [CSS], where it follows the page's light or dark scheme; [Scene.File] writes
// it with plain colours in the file.
//
// # Threading
//
// Everything here is plain functions and values.
//
// # Errors
//
// Any input gives a drawing: values that are not finite or missing are left out,
// and every text is escaped.
package chart
