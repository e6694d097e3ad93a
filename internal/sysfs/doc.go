// Package sysfs reads what the kernel says of NVMe devices in /sys: what kind
// of node a path is, which nodes belong to the same namespace, queue limits and
// poll queues. It never derives anything from a device's name.
package sysfs
