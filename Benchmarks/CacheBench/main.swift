import Foundation
import Synchronization
import TileIndex
import TilePrefetch

// CacheBench: what a hit costs. CacheBench memory BUDGET OPERATIONS: random operations on real buffers, and the most memory that the process had.
if CommandLine.arguments.count > 1 {
  MemoryTrial.run(Array(CommandLine.arguments.dropFirst()))
} else {
  HitTrial.run()
}
