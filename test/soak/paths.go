package main

// pathID is a way to the drive.
type pathID uint8

// Paths.
const (
	byNobody pathID = iota // what a drive held before
	byQueue
	byQueuePoll
	byBlock
	byBlockPoll
	byDevice
	byDevicePoll
	byFile
	byChild
	pathCount
)

var pathNames = [pathCount]string{"nobody", "passthru", "passthru-poll", "block", "block-poll", "device", "device-poll", "file", "child"}

func (p pathID) String() string { return pathNames[p] }

// polls tells whether a path keeps a poll queue busy.
func (p pathID) polls() bool { return p == byQueuePoll || p == byBlockPoll || p == byDevicePoll }

// block tells whether a path goes through the block layer.
func (p pathID) block() bool { return p == byBlock || p == byBlockPoll || p == byFile }

// ring tells whether a path is a queue with one owner.
func (p pathID) ring() bool {
	return p == byQueue || p == byQueuePoll || p == byBlock || p == byBlockPoll
}
