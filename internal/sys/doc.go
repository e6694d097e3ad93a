// Package sys is the one place that makes system calls: every other package
// goes through it, so that what the program asks of the kernel can be read in
// one folder. It adds no policy: results and errnos come back as they are.
package sys
