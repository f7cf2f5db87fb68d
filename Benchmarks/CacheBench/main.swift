import Foundation

// CacheBench: what a hit costs.
// CacheBench day [GESTURES]: a day of a made-up user, in virtual time.
// CacheBench memory BUDGET OPERATIONS: random operations on real buffers, and the most memory that the process had.
switch CommandLine.arguments.dropFirst().first {
case nil: HitTrial.run()
case "day": DayTrial.run(gestures: CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 23_000)
default: MemoryTrial.run(Array(CommandLine.arguments.dropFirst()))
}
