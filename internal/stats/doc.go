// Package stats summarises repeated measurements of one rate: medians, 95 % intervals for few rounds, and paired ratios with
// a verdict on whether two rates differ at all.
//
// # Method
//
// A rate (I/Os per second) is positive and its disturbances multiply: a busy neighbour costs a share of the speed, not a
// fixed number of I/Os. Intervals are therefore taken on logarithms: Student's t on the mean of the logs, turned back. Such
// an interval is one of the geometric mean, which for rates scattered evenly in the log is the median too.
//
// An order-statistic interval of the median would assume less, but cannot serve for few rounds: the widest one, minimum to
// maximum, covers the median with probability 1 - 2*(1/2)^n, which is 93.75 % for five rounds and passes 95 % only at six.
// Student's t reaches 95 % from two rounds on; it is given from [MinSamples] rounds on, because with two the
// factor is 12.7 and says nothing.
//
// Up to seven rounds the median always lies inside the interval, since a median is never further than one standard deviation
// from the mean. With more rounds and a strong skew it may lie outside: then the rounds are not repeats of one rate.
//
// Two rates measured in the same round share that round's disturbances. [PairedRatio] therefore divides round by round and
// takes the interval over the quotients, which is narrower than one from two separate intervals. Where no round of one rate
// belongs to a round of the other, as in two recorded runs, [UnpairedRatio] gives Welch's interval.
//
// Each verdict stands for itself at 95 %: among many cells that do not differ, about one in twenty is called different.
//
// # Special values
//
// No function returns NaN or an infinity. Where a figure cannot be had (no samples, too few, a rate of zero, a
// value that is not finite) the second result is false.
package stats
