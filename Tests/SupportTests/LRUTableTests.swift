import Support
import TestSupport
import Testing

@Suite(.ownThread) struct LRUTableTests {
  /// The reference: an array, the most recently used first.
  private struct Model {
    let byteCountMax: Int
    var entries: [(key: Int, value: Int, byteCount: Int)] = []
    var evictionCount = 0
    var byteCount: Int { entries.reduce(0) { $0 + $1.byteCount } }

    mutating func value(for key: Int) -> Int? {
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
      entries.insert(entries.remove(at: index), at: 0)
      return entries[0].value
    }

    mutating func insert(_ value: Int, for key: Int, byteCount: Int) {
      entries.removeAll { $0.key == key }
      guard byteCount <= byteCountMax else { return }
      entries.insert((key, value, byteCount), at: 0)
      while self.byteCount > byteCountMax {
        entries.removeLast()
        evictionCount += 1
      }
    }
  }

  @Test(arguments: 0..<40)
  func agreesWithAnArray(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let budget = [0, 1, 40, 300].randomElement(using: &random)!
    var table = LRUTable<Int, Int>(byteCountMax: budget)
    var model = Model(byteCountMax: budget)
    for step in 0..<600 {
      let key = Int.random(in: 0..<25, using: &random)
      if Bool.random(using: &random) {
        let byteCount = Int.random(in: 0...45, using: &random)
        table.insert(step, for: key, byteCount: byteCount)
        model.insert(step, for: key, byteCount: byteCount)
      } else {
        let (found, expected) = (table.value(for: key), model.value(for: key))
        #expect(found == expected, "seed \(seed), step \(step)")
      }
      if table.keys != model.entries.map(\.key) || table.byteCount != model.byteCount
        || table.count != model.entries.count || table.evictionCount != model.evictionCount || table.byteCount > budget
      {
        Issue.record("seed \(seed), step \(step): \(table.keys) against \(model.entries)")
        return
      }
    }
  }

  @Test func theLeastRecentlyUsedIsEvicted() {
    var table = LRUTable<String, Int>(byteCountMax: 30)
    table.insert(1, for: "a", byteCount: 10)
    table.insert(2, for: "b", byteCount: 10)
    table.insert(3, for: "c", byteCount: 10)
    #expect(table.value(for: "a") == 1)
    table.insert(4, for: "d", byteCount: 10)
    #expect(table.value(for: "b") == nil)
    #expect(table.keys == ["d", "a", "c"])
  }

  @Test func valuesLargerThanTheBudgetAreNotKept() {
    var table = LRUTable<String, Int>(byteCountMax: 30)
    table.insert(1, for: "a", byteCount: 30)
    table.insert(2, for: "b", byteCount: 31)
    #expect(table.keys == ["a"])
    #expect(table.evictionCount == 0)
  }
}
