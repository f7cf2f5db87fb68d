import TestSupport
import Testing

@testable import MapStoreWire

/// `ByteIntervals` behaves like a set of single bytes.
@Suite(.ownThread) struct ByteIntervalsTests {
  @Test(arguments: 0..<50 as Range<UInt64>)
  func intervalsBehaveLikeSets(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let size = Int.random(in: 0...60, using: &random)
    var intervals = ByteIntervals(0..<size)
    var bytes = Set(0..<size)
    for _ in 0..<Int.random(in: 0...8, using: &random) {
      let first = Int.random(in: 0...70, using: &random)
      let taken = first..<(first + Int.random(in: 0...30, using: &random))
      if Bool.random(using: &random) {
        intervals.subtract(taken)
        bytes.subtract(taken)
      } else {
        intervals.insert(taken)
        bytes.formUnion(taken)
      }
      #expect(Set(intervals.ranges.joined()) == bytes, "seed \(seed)")
      #expect(intervals.byteCount == bytes.count)
      #expect(zip(intervals.ranges, intervals.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
      let probe = Int.random(in: 0...40, using: &random)..<Int.random(in: 41...80, using: &random)
      #expect(Set(intervals.intersection(probe).joined()) == bytes.intersection(probe), "seed \(seed)")
    }
  }

  @Test func rangesThatTouchAreJoined() {
    var intervals = ByteIntervals()
    intervals.insert(50..<100)
    intervals.insert(0..<30)
    #expect(intervals.ranges == [0..<30, 50..<100])
    intervals.insert(30..<50)
    #expect(intervals.ranges == [0..<100])
    for start in stride(from: 1000, to: 3_000, by: 10) { intervals.insert(start..<start + 1) }
    intervals.truncate(to: 64)
    #expect(intervals.ranges.count == 64 && intervals.ranges[0] == 0..<100)
  }
}
